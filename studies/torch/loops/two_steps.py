"""Two steps of many checkpointed layers."""
# steps: 2

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
dev = "cuda"


def mlp(width=128, out=10):
    return nn.Sequential(nn.Linear(64, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, out)).to(dev)


def batch(n=32):
    return torch.randn(n, 64, device=dev), torch.randint(0, 10, (n,), device=dev)

from torch.utils.checkpoint import checkpoint

blocks = [nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 64)).to(dev) for _ in range(24)]
opt = torch.optim.Adam([w for b in blocks for w in b.parameters()])
for step in range(2):
    x, _ = batch()
    for b in blocks:
        x = x + checkpoint(b, x, use_reentrant=False)
    x.pow(2).mean().backward()
    opt.step()
    opt.zero_grad()
