# half: first
# kind: autograd
# names: outputs
# or: mask
# bytes: 16777216
"""A custom Function puts its mask on ctx as an attribute, which backward() does not free, and the outputs are kept with
their graphs (sru#171, pyro#1049, dgl#1060). To change: save_for_backward, or detach what is kept in `outputs`."""
import torch


class Dropout(torch.autograd.Function):
    @staticmethod
    def forward(ctx, values):
        ctx.mask = torch.ones(256, 1024, device="cuda")
        return values * ctx.mask.mean()

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.mask.mean()


outputs = []
model = torch.nn.Linear(64, 16).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(16):
    output = Dropout.apply(model(torch.randn(4, 64, device="cuda")))
    optimizer.zero_grad()
    output.square().mean().backward()
    optimizer.step()
    outputs.append(output.mean())
