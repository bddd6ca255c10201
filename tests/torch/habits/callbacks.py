"""A class-based trainer, which logs the last step's tensors."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
dev = "cuda"


class Module(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(64, 128), nn.Tanh(), nn.Dropout(0.1), nn.Linear(128, 10))
        self.logged = {}

    def training_step(self, batch):
        x, y = batch
        loss = F.cross_entropy(self.net(x), y)
        self.logged["loss"] = loss.detach()
        self.logged["acc"] = (self.net(x).argmax(-1) == y).float().mean()
        return loss


class Trainer:
    def fit(self, m, n):
        opt = torch.optim.AdamW(m.parameters(), fused=False)
        sc = torch.amp.GradScaler("cuda")
        for i in range(n):
            batch = torch.randn(32, 64, device=dev), torch.randint(0, 10, (32,), device=dev)
            with torch.autocast("cuda", dtype=torch.float16):
                loss = m.training_step(batch)
            opt.zero_grad()
            sc.scale(loss).backward()
            sc.step(opt)
            sc.update()


Trainer().fit(Module().to(dev), 40)
