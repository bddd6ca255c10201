"""Sequences get longer with every step."""

import torch
from torch import nn

torch.manual_seed(0)
dev = "cuda"
emb = nn.Embedding(100, 32).to(dev)
l = nn.TransformerEncoderLayer(32, 2, 64, batch_first=True).to(dev)
opt = torch.optim.AdamW([*emb.parameters(), *l.parameters()])
for i in range(60):
    x = torch.randint(0, 100, (4, 8 + 2 * i), device=dev)
    loss = l(emb(x)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
