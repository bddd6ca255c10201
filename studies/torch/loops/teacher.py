"""A teacher without gradients, a moving average, and a queue of earlier outputs."""
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

import copy

student, opt = mlp(out=32), None
teacher = copy.deepcopy(student).requires_grad_(False)
opt = torch.optim.AdamW(student.parameters())
queue = torch.randn(512, 32, device=dev)
for step in range(40):
    x, _ = batch()
    with torch.no_grad():
        k = F.normalize(teacher(x), dim=1)
    q = F.normalize(student(x), dim=1)
    logits = torch.cat([(q * k).sum(1, keepdim=True), q @ queue.t()], 1) / 0.1
    loss = F.cross_entropy(logits, torch.zeros(32, dtype=torch.long, device=dev))
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        for a, b in zip(teacher.parameters(), student.parameters()):
            a.mul_(0.99).add_(b, alpha=0.01)
        queue = torch.cat([k, queue[:-32]])
