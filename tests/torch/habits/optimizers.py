"""A new optimizer every fifteen steps."""

import torch
from torch import nn

torch.manual_seed(0)
dev = "cuda"


def mlp():
    return nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 10)).to(dev)


m = mlp()
for phase in range(4):
    opt = torch.optim.AdamW(m.parameters()) if phase % 2 else torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.9)
    for i in range(15):
        x = torch.randn(32, 128, device=dev)
        loss = m(x).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
