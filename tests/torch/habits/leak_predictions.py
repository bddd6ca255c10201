"""Predictions are kept with their graph."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
dev = "cuda"
rnn = nn.LSTM(32, 64, batch_first=True).to(dev)
head = nn.Linear(64, 5).to(dev)
opt = torch.optim.Adam([*rnn.parameters(), *head.parameters()])
preds = []
for i in range(40):
    o, _ = rnn(torch.randn(8, 20, 32, device=dev))
    p = head(o[:, -1])  # LEAK
    loss = F.cross_entropy(p, torch.randint(0, 5, (8,), device=dev))
    opt.zero_grad()
    loss.backward()
    opt.step()
    preds.append(p)
