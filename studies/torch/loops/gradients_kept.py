"""Gradients are set to zero, and stay allocated."""
# steps: 40

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
opt = torch.optim.Adam(model.parameters())
for step in range(40):
    x, y = batch()
    opt.zero_grad(set_to_none=False)
    F.cross_entropy(model(x), y).backward()
    opt.step()
