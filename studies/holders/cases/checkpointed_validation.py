# half: third
# kind: autograd
# names: curve
# bytes: 16777216
"""Validation runs through checkpointed blocks, which keep only their inputs, and its loss goes into a dict for a curve
with what is left of the graph: these inputs (pytorch#84413 and pytorch#80151 are about checkpoints that keep). To
change: no_grad() in validate, or loss.item()."""
import torch
from torch.utils.checkpoint import checkpoint


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = torch.nn.Linear(64, 1024)
        self.block = torch.nn.Sequential(torch.nn.Linear(1024, 256), torch.nn.Tanh(), torch.nn.Linear(256, 8))

    def forward(self, images):
        return checkpoint(self.block, self.stem(images), use_reentrant=False)


def validate(model):
    return model(torch.randn(256, 64, device="cuda")).square().mean()


curve = {}
model = Net().to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(16):
    optimizer.zero_grad()
    model(torch.randn(16, 64, device="cuda")).square().mean().backward()
    optimizer.step()
    curve[step] = {"rate": 0.1, "validation": validate(model)}
