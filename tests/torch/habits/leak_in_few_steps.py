"""Twelve steps are enough."""

import torch
from torch import nn

torch.manual_seed(0)
dev = "cuda"


def mlp():
    return nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 10)).to(dev)


m = mlp()
opt = torch.optim.Adam(m.parameters())
keep = []
for i in range(12):
    x = torch.randn(32, 128, device=dev)  # LEAK, by the graph
    loss = m(x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    keep.append(m(x))  # LEAK
