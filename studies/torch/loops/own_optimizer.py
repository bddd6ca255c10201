"""Hand-written Adam, one parameter after another."""
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
weights = list(model.parameters())
m = [torch.zeros_like(w) for w in weights]
v = [torch.zeros_like(w) for w in weights]
for step in range(40):
    x, y = batch()
    loss = F.cross_entropy(model(x), y)
    for w in weights:
        w.grad = None
    loss.backward()
    with torch.no_grad():
        for i, w in enumerate(weights):
            m[i] = 0.9 * m[i] + 0.1 * w.grad
            v[i] = 0.99 * v[i] + 0.01 * w.grad**2
            w -= 1e-3 * m[i] / (v[i].sqrt() + 1e-8)
