"""Micro-batches until enough words are processed: two to six per step."""
# steps: 30

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
dev = "cuda"


def mlp(width=128, out=10):
    return nn.Sequential(nn.Linear(64, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, out)).to(dev)


def batch(n=32):
    return torch.randn(n, 64, device=dev), torch.randint(0, 10, (n,), device=dev)

import random

random.seed(3)
model = mlp()
opt = torch.optim.AdamW(model.parameters())
for step in range(30):
    for portion in range(random.randint(2, 6)):
        x, y = batch(random.choice([8, 16, 24]))
        F.cross_entropy(model(x), y, reduction="sum").backward()
    opt.step()
    opt.zero_grad()
