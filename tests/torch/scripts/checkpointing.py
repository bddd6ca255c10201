"""Activation checkpointing, of both kinds."""
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

torch.manual_seed(0)
blocks = nn.Sequential(*(nn.Sequential(nn.Linear(128, 512), nn.GELU(), nn.Linear(512, 128))
                         for _ in range(6))).cuda()
optimizer = torch.optim.SGD(blocks.parameters(), lr=0.1)


def peak(run):
    torch.cuda.reset_peak_memory_stats()
    optimizer.zero_grad()
    x = torch.randn(4096, 128, device="cuda", requires_grad=True)
    run(x).sum().backward()
    optimizer.step()
    return torch.cuda.max_memory_allocated()


def each(x):
    for block in blocks:
        x = checkpoint(block, x, use_reentrant=False)
    return x


for step in range(3):
    plain = peak(blocks)
    single = peak(each)
    parts = peak(lambda x: checkpoint_sequential(blocks, 3, x, use_reentrant=True))
assert single < plain and parts < plain, (plain, single, parts)
