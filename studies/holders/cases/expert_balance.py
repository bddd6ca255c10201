# half: fifth
# kind: autograd
# names: aux_losses Router
# or: aux_losses model
# bytes: 16777216
"""Routers of a mixture of experts add a loss for the balance of the experts to a dict of the class, by layer; a
training step takes the losses out, but generating samples goes through the routers too, and their losses stay (reports
on trackers of auxiliary losses in Megatron-LM). To change: record only when self.training, or no_grad() in sample()."""
import collections

import torch


class Router(torch.nn.Module):
    aux_losses = collections.defaultdict(list)

    def __init__(self, layer, width, experts):
        super().__init__()
        self.layer = layer
        self.gate = torch.nn.Linear(width, experts)

    def forward(self, x):
        share = self.gate(x).softmax(1)
        self.aux_losses[self.layer].append(share.square().mean())
        return share.detach()

    @classmethod
    def take(cls):
        losses = [values.pop() for values in cls.aux_losses.values()]
        return sum(losses)


class Mixture(torch.nn.Module):
    def __init__(self, width=512, experts=512, depth=2):
        super().__init__()
        self.embed = torch.nn.Linear(64, width)
        self.layers = torch.nn.ModuleList(Router(layer, width, experts) for layer in range(depth))

    def forward(self, x):
        x = self.embed(x).detach()
        for router in self.layers:
            x = x * router(x)
        return x


def sample(model):
    return model(torch.randn(128, 64, device="cuda")).argmax(1)


model = Mixture().to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(16):
    optimizer.zero_grad()
    model(torch.randn(16, 64, device="cuda"))
    Router.take().backward()
    optimizer.step()
    sample(model)
