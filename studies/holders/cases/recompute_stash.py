# half: fourth
# kind: python
# names: stash
# bytes: 16777216
"""A function of its own for activation checkpointing puts its inputs into a dict, and backward() takes them out again;
but the auxiliary head is only looked at, and nobody goes backward through it (DeepSpeed#1698). To change: no_grad()
around the auxiliary head, or save_for_backward."""
import itertools

import torch


class Recompute(torch.autograd.Function):
    stash = {}
    numbers = itertools.count()

    @staticmethod
    def forward(ctx, hidden, weight):
        ctx.number = next(Recompute.numbers)
        Recompute.stash[ctx.number] = hidden.detach(), weight.detach()
        return torch.tanh(hidden @ weight)

    @staticmethod
    def backward(ctx, gradient):
        hidden, weight = [value.requires_grad_() for value in Recompute.stash.pop(ctx.number)]
        with torch.enable_grad():
            output = torch.tanh(hidden @ weight)
        return torch.autograd.grad(output, (hidden, weight), gradient)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Linear(64, 1024)
        self.main_head = torch.nn.Parameter(torch.randn(1024, 8))
        self.auxiliary_head = torch.nn.Parameter(torch.randn(1024, 8))

    def forward(self, images):
        hidden = self.body(images)
        return Recompute.apply(hidden, self.main_head), Recompute.apply(hidden, self.auxiliary_head)


def fit(model, optimizer):
    for _ in range(16):
        main, auxiliary = model(torch.randn(256, 64, device="cuda"))
        shown = auxiliary.detach().mean()
        optimizer.zero_grad()
        main.square().mean().backward()
        optimizer.step()
        del main, auxiliary, shown


model = Net().to("cuda")
fit(model, torch.optim.SGD(model.parameters(), lr=0.1))
