"""Sentences of varying length."""
# steps: 60

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
dev = "cuda"
import random

random.seed(1)
embed = nn.Embedding(200, 32).to(dev)
model = nn.TransformerEncoder(nn.TransformerEncoderLayer(32, 2, 64, batch_first=True, dropout=0.0), 2).to(dev)
out = nn.Linear(32, 200).to(dev)
opt = torch.optim.AdamW([*embed.parameters(), *model.parameters(), *out.parameters()])
for step in range(60):
    tokens = torch.randint(0, 200, (random.randint(1, 8), random.randint(5, 64)), device=dev)
    loss = F.cross_entropy(out(model(embed(tokens))).flatten(0, 1), tokens.flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
