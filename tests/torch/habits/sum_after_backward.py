"""A sum of losses after backward: its graph no longer holds memory."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
dev = "cuda"


def mlp():
    return nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 10)).to(dev)


class Avg:
    def __init__(self):
        self.sum = 0
        self.n = 0

    def update(self, v):
        self.sum = self.sum + v
        self.n += 1


m = mlp()
opt = torch.optim.Adam(m.parameters())
avg = Avg()
for i in range(40):
    x = torch.randn(32, 128, device=dev)
    y = torch.randint(0, 10, (32,), device=dev)
    loss = F.cross_entropy(m(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    avg.update(loss)
