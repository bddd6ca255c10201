"""Rollouts without gradients, and a few epochs on each."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
dev = "cuda"


def mlp():
    return nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 10)).to(dev)


pi = mlp()
v = nn.Linear(128, 1).to(dev)
opt = torch.optim.Adam([*pi.parameters(), *v.parameters()])
for it in range(15):
    obs, acts, rew = [], [], []
    with torch.no_grad():
        o = torch.randn(16, 128, device=dev)
        for t in range(10):
            a = pi(o).argmax(-1)
            obs.append(o)
            acts.append(a)
            rew.append(torch.randn(16, device=dev))
            o = o + torch.randn(16, 128, device=dev)
    O, A, R = torch.cat(obs), torch.cat(acts), torch.cat(rew)
    for ep in range(3):
        for idx in torch.randperm(160, device=dev).split(40):
            loss = F.cross_entropy(pi(O[:40]), A[:40]) + (v(O[:40]).squeeze(-1) - R[:40]).pow(2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
