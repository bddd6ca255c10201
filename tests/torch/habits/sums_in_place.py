"""An in-place sum of losses, four micro-batches per step, and saved states."""

import io

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
dev = "cuda"


def mlp():
    return nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 10)).to(dev)


m = mlp()
opt = torch.optim.AdamW(m.parameters())
tr_loss = torch.tensor(0.0, device=dev)
logs = []
for i in range(64):
    x = torch.randn(32, 128, device=dev)
    y = torch.randint(0, 10, (32,), device=dev)
    loss = F.cross_entropy(m(x), y) / 4
    loss.backward()
    tr_loss += loss.detach()
    if i % 4 == 3:
        torch.nn.utils.clip_grad_norm_(m.parameters(), 1.0)
        opt.step()
        opt.zero_grad()
    if i % 16 == 15:
        logs.append(tr_loss.item())
        tr_loss -= tr_loss
    if i % 32 == 31:
        torch.save(m.state_dict(), io.BytesIO())
