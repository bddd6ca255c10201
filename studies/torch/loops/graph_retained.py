"""Two losses of one graph; the first backward retains it."""
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

model, aux = mlp(out=64), nn.Linear(64, 10).to(dev)
opt = torch.optim.Adam([*model.parameters(), *aux.parameters()])
for step in range(30):
    x, y = batch()
    h = model(x)
    opt.zero_grad()
    F.cross_entropy(aux(h), y).backward(retain_graph=True)
    h.pow(2).mean().backward()
    opt.step()
