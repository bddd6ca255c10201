"""A forward hook keeps the outputs."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
dev = "cuda"
acts = []


def hook(m, i, o):
    acts.append(o.detach().clone())  # LEAK


model = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 10)).to(dev)
model[1].register_forward_hook(hook)
opt = torch.optim.AdamW(model.parameters())
for step in range(40):
    x = torch.randn(64, 256, device=dev)
    y = torch.randint(0, 10, (64,), device=dev)
    loss = F.cross_entropy(model(x), y)
    opt.zero_grad(set_to_none=True)
    loss.backward()
    opt.step()
