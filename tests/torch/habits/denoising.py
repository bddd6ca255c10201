"""Autocast, a hand-written moving average, and occasional sampling."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
dev = "cuda"
net = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.GroupNorm(4, 16), nn.SiLU(), nn.Conv2d(16, 3, 3, padding=1)).to(
    dev
)
ema = copy.deepcopy(net).eval().requires_grad_(False)
opt = torch.optim.AdamW(net.parameters())


@torch.no_grad()
def sample():
    x = torch.randn(2, 3, 16, 16, device=dev)
    frames = []
    for t in range(10):
        x = x - ema(x)
        frames.append(x)
    return torch.stack(frames).cpu()


for i in range(48):
    x = torch.randn(8, 3, 16, 16, device=dev)
    n = torch.randn_like(x)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = F.mse_loss(net(x + n), n)
    opt.zero_grad(set_to_none=True)
    loss.backward()
    opt.step()
    with torch.no_grad():
        for p, q in zip(ema.parameters(), net.parameters()):
            p.lerp_(q, 0.01)
    if i % 12 == 11:
        sample()
