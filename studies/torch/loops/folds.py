"""Four folds, each with its own model and optimizer, and a validation after each epoch."""
# steps: 48

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
dev = "cuda"


def mlp(width=128, out=10):
    return nn.Sequential(nn.Linear(64, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, out)).to(dev)


def batch(n=32):
    return torch.randn(n, 64, device=dev), torch.randint(0, 10, (n,), device=dev)

results = []
for fold in range(4):
    model = mlp()
    opt = torch.optim.AdamW(model.parameters())
    for epoch in range(3):
        model.train()
        for i in range(4):
            x, y = batch()
            loss = F.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        model.eval()
        with torch.no_grad():
            for i in range(3):
                x, y = batch(64)
                results.append((model(x).argmax(-1) == y).float().mean().item())
