"""Text is generated word by word; there is no training."""
# steps: 0

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
dev = "cuda"


def mlp(width=128, out=10):
    return nn.Sequential(nn.Linear(64, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, out)).to(dev)


def batch(n=32):
    return torch.randn(n, 64, device=dev), torch.randint(0, 10, (n,), device=dev)

model = nn.Sequential(*[nn.Sequential(nn.Linear(64, 64), nn.LayerNorm(64), nn.GELU()) for _ in range(24)]).to(dev)
with torch.no_grad():
    for step in range(1):
        x, _ = batch()
        print(model(x).shape)
