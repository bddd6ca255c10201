"""Losses are detached, but kept on the device."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
dev = "cuda"


class Trainer:
    def __init__(self):
        self.model = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 10)).to(dev)
        self.opt = torch.optim.Adam(self.model.parameters())
        self.history = []

    def step(self):
        x = torch.randn(64, 256, device=dev)
        y = torch.randint(0, 10, (64,), device=dev)
        out = self.model(x)
        loss = F.cross_entropy(out, y)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        self.history.append(loss.detach() * 1.0)  # LEAK


t = Trainer()
for i in range(50):
    t.step()
print(torch.cuda.max_memory_allocated())
