"""A trainer of classes and functions, which calls the same step for training and for tuning."""
# steps: 50

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
dev = "cuda"


def mlp(width=128, out=10):
    return nn.Sequential(nn.Linear(64, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, out)).to(dev)


def batch(n=32):
    return torch.randn(n, 64, device=dev), torch.randint(0, 10, (n,), device=dev)

class Trainer:
    def __init__(self):
        self.model = mlp()
        self.opt = torch.optim.AdamW(self.model.parameters())
        self.log = {}

    def step(self, data):
        x, y = data
        self.opt.zero_grad(set_to_none=True)
        out = self.model(x)
        loss = F.cross_entropy(out, y)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.opt.step()
        self.log["loss"], self.log["out"] = loss.detach(), out.detach()

    def fit(self, n):
        for i in range(n):
            self.step(batch(16 if i % 2 else 32))


t = Trainer()
t.fit(30)
t.fit(20)
