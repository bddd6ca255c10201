"""A key-value cache that grows within a request and is freed with it."""

import torch
from torch import nn

torch.manual_seed(0)
dev = "cuda"
lin = nn.Linear(64, 192).to(dev).eval()


@torch.no_grad()
def generate(n):
    k = torch.empty(1, 0, 64, device=dev)
    v = torch.empty(1, 0, 64, device=dev)
    h = torch.randn(1, 1, 64, device=dev)
    for _ in range(n):
        q, a, b = lin(h).chunk(3, -1)
        k = torch.cat([k, a], 1)
        v = torch.cat([v, b], 1)
        h = torch.softmax(q @ k.transpose(1, 2), -1) @ v
    return h.cpu()


for r in range(12):
    generate(24)
