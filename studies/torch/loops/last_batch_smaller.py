"""A data set whose last batch is smaller, shuffled on the GPU in each epoch."""
# steps: 56

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
dev = "cuda"


def mlp(width=128, out=10):
    return nn.Sequential(nn.Linear(64, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, out)).to(dev)


def batch(n=32):
    return torch.randn(n, 64, device=dev), torch.randint(0, 10, (n,), device=dev)

from torch.utils.data import DataLoader, TensorDataset

data = DataLoader(TensorDataset(torch.randn(440, 64), torch.randint(0, 10, (440,))), 64, shuffle=True)
model = mlp()
opt = torch.optim.RMSprop(model.parameters())
seen = torch.zeros(10, device=dev)
for epoch in range(8):
    total = torch.zeros((), device=dev)
    for x, y in data:
        x, y = x.to(dev), y.to(dev)
        out = model(x)
        loss = F.cross_entropy(out, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.detach()
        seen = seen + torch.bincount(y, minlength=10)
