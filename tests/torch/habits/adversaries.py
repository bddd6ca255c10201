"""Two models and two optimizers in alternation."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
dev = "cuda"
G = nn.Sequential(nn.Linear(32, 128), nn.ReLU(), nn.Linear(128, 64)).to(dev)
D = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 1)).to(dev)
og = torch.optim.Adam(G.parameters())
od = torch.optim.Adam(D.parameters())
for i in range(40):
    real = torch.randn(32, 64, device=dev)
    z = torch.randn(32, 32, device=dev)
    fake = G(z)
    ld = F.softplus(-D(real)).mean() + F.softplus(D(fake.detach())).mean()
    od.zero_grad()
    ld.backward()
    od.step()
    lg = F.softplus(-D(fake)).mean()
    og.zero_grad()
    lg.backward()
    og.step()
