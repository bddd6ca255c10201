"""Sequences of varying length."""

import random

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
dev = "cuda"
emb = nn.Embedding(1000, 64).to(dev)
rnn = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True).to(dev)
head = nn.Linear(64, 1000).to(dev)
ps = [*emb.parameters(), *rnn.parameters(), *head.parameters()]
opt = torch.optim.AdamW(ps)
rnd = random.Random(1)
for step in range(60):
    n = rnd.randint(8, 128)
    x = torch.randint(0, 1000, (4, n), device=dev)
    loss = F.cross_entropy(head(rnn(emb(x))).flatten(0, 1), x.flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
