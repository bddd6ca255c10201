"""A body is trained, then frozen under a new head with a new optimizer."""
# steps: 45

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
dev = "cuda"


def mlp(width=128, out=10):
    return nn.Sequential(nn.Linear(64, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, out)).to(dev)


def batch(n=32):
    return torch.randn(n, 64, device=dev), torch.randint(0, 10, (n,), device=dev)

body, head = mlp(out=64), nn.Linear(64, 10).to(dev)
opt = torch.optim.Adam([*body.parameters(), *head.parameters()])
for i in range(25):
    x, y = batch()
    loss = F.cross_entropy(head(body(x)), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
for q in body.parameters():
    q.requires_grad_(False)
head = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 10)).to(dev)
opt = torch.optim.AdamW(head.parameters(), lr=1e-4)
for i in range(20):
    x, y = batch(48)
    with torch.no_grad():
        z = body(x)
    loss = F.cross_entropy(head(z), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
