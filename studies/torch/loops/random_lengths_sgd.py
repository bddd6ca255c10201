"""Sentences of varying length, an optimizer without state."""
# steps: 50

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
dev = "cuda"
import random

random.seed(2)
model = nn.Sequential(nn.Conv1d(1, 16, 5, padding=2), nn.ReLU(), nn.Conv1d(16, 16, 5, padding=2), nn.ReLU(),
                      nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(16, 4)).to(dev)
opt = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(50):
    n = random.randint(2, 16)
    x, y = torch.randn(n, 1, random.randint(50, 900), device=dev), torch.randint(0, 4, (n,), device=dev)
    loss = F.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
