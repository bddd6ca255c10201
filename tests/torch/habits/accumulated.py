"""Checkpointed blocks, gradients accumulated over four micro-batches."""

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)
dev = "cuda"
blocks = nn.ModuleList([nn.Sequential(nn.Linear(128, 256), nn.GELU(), nn.Linear(256, 128)) for _ in range(4)]).to(dev)
opt = torch.optim.AdamW(blocks.parameters())
for step in range(20):
    for micro in range(4):
        x = torch.randn(32, 128, device=dev)
        for b in blocks:
            x = x + checkpoint(b, x, use_reentrant=False)
        (x.pow(2).mean() / 4).backward()
    opt.step()
    opt.zero_grad()
