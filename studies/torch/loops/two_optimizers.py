"""Two parts of one model, each with its own optimizer."""
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

model, head = mlp(out=64), nn.Linear(64, 10).to(dev)
a, b = torch.optim.Adam(model.parameters()), torch.optim.SGD(head.parameters(), lr=0.1, momentum=0.9)
for step in range(40):
    x, y = batch()
    loss = F.cross_entropy(head(model(x)), y)
    a.zero_grad()
    b.zero_grad()
    loss.backward()
    a.step()
    b.step()
