"""A cache that is full after a few steps."""

import torch
from torch import nn

torch.manual_seed(0)
dev = "cuda"
model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)).to(dev)
opt = torch.optim.Adam(model.parameters())
masks = {}


def mask(n):
    if n not in masks:
        masks[n] = torch.ones(n, n, device=dev).tril()
    return masks[n]


for i in range(64):
    m = mask(32 + 8 * (i % 6))
    x = torch.randn(m.shape[0], 64, device=dev)
    loss = (m @ model(x)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
