"""The running sum of losses, without any backward of the sum."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
dev = "cuda"
model = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 10)).to(dev)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
total = 0
for step in range(40):
    x = torch.randn(64, 256, device=dev)  # LEAK, by the graph
    y = torch.randint(0, 10, (64,), device=dev)  # LEAK, by the graph
    loss = F.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    total = total + F.cross_entropy(model(x), y)  # LEAK
