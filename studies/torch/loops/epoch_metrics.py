"""Losses and predictions of an epoch stay on the GPU until it ends."""
# steps: 60

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
dev = "cuda"


def mlp(width=128, out=10):
    return nn.Sequential(nn.Linear(64, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, out)).to(dev)


def batch(n=32):
    return torch.randn(n, 64, device=dev), torch.randint(0, 10, (n,), device=dev)

model = mlp()
opt = torch.optim.Adam(model.parameters())
for epoch in range(5):
    losses, predicted = [], []
    for i in range(12):
        x, y = batch()
        out = model(x)
        loss = F.cross_entropy(out, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.detach())
        predicted.append(out.detach().argmax(-1))
    print(torch.stack(losses).mean().item(), torch.cat(predicted).shape)
