"""The line that keeps the memory is in another file."""

import torch
import torch.nn.functional as F
from torch import nn

from metrics_of import Metrics

torch.manual_seed(0)
dev = "cuda"


def mlp():
    return nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 10)).to(dev)


m = mlp()
opt = torch.optim.Adam(m.parameters())
met = Metrics()
for i in range(40):
    x = torch.randn(32, 128, device=dev)
    y = torch.randint(0, 10, (32,), device=dev)
    out = m(x)
    loss = F.cross_entropy(out, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    met.update(out.detach(), y)
