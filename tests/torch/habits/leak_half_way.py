"""Nothing is kept until the middle of the run."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
dev = "cuda"


def mlp():
    return nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 10)).to(dev)


m = mlp()
opt = torch.optim.SGD(m.parameters(), lr=0.1)
kept = []
for i in range(80):
    x = torch.randn(32, 128, device=dev)
    y = torch.randint(0, 10, (32,), device=dev)
    loss = F.cross_entropy(m(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i > 40:
        kept.append(x * 2)  # LEAK
