"""Exceptions are kept, and with them the frames that raised them."""

import torch
from torch import nn

torch.manual_seed(0)
dev = "cuda"


def mlp():
    return nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 10)).to(dev)


m = mlp()
opt = torch.optim.Adam(m.parameters())
errors = []


def step(i):
    x = torch.randn(64, 128, device=dev)  # LEAK, too
    h = m[0](x)  # LEAK
    if i % 2:
        raise ValueError("bad batch")
    loss = m[2](m[1](h)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()


for i in range(80):
    try:
        step(i)
    except ValueError as e:
        errors.append(e)
