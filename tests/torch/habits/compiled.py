"""torch.compile without a backend compiler."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
dev = "cuda"


def mlp():
    return nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 10)).to(dev)


m = mlp()
opt = torch.optim.Adam(m.parameters())
cm = torch.compile(m, backend="aot_eager")
for i in range(30):
    x = torch.randn(32, 128, device=dev)
    y = torch.randint(0, 10, (32,), device=dev)
    loss = F.cross_entropy(cm(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
