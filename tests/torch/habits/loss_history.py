"""A history of losses as Python numbers."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
dev = "cuda"
model = nn.LSTM(32, 64, 2, batch_first=True).to(dev)
head = nn.Linear(64, 5).to(dev)
opt = torch.optim.Adam([*model.parameters(), *head.parameters()])
losses = []
for i in range(40):
    o, _ = model(torch.randn(8, 20, 32, device=dev))
    loss = F.cross_entropy(head(o[:, -1]), torch.randint(0, 5, (8,), device=dev))
    opt.zero_grad()
    loss.backward()
    opt.step()
    losses.append(loss.item())
