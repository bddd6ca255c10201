"""Tensors in reference cycles, which the garbage collector frees at times."""

import gc

import torch
from torch import nn

torch.manual_seed(0)
dev = "cuda"


def mlp():
    return nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 10)).to(dev)


class Node:
    pass


m = mlp()
opt = torch.optim.Adam(m.parameters())
gc.set_threshold(60000, 50, 50)
for i in range(90):
    n = Node()
    n.self = n
    n.t = torch.randn(64, 128, device=dev)
    loss = m(n.t).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 15 == 14:
        gc.collect()
