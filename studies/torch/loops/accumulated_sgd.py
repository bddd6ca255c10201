"""Four micro-batches per step of plain SGD."""
# steps: 24

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
dev = "cuda"


def mlp(width=128, out=10):
    return nn.Sequential(nn.Linear(64, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, out)).to(dev)


def batch(n=32):
    return torch.randn(n, 64, device=dev), torch.randint(0, 10, (n,), device=dev)

model = mlp()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(24):
    for portion in range(4):
        x, y = batch()
        (F.cross_entropy(model(x), y) / 4).backward()
    opt.step()
    opt.zero_grad()
