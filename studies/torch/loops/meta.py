"""An inner loop of steps on copies of the weights in each step of the outer loop."""
# steps: 15

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
dev = "cuda"


def mlp(width=128, out=10):
    return nn.Sequential(nn.Linear(64, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, out)).to(dev)


def batch(n=32):
    return torch.randn(n, 64, device=dev), torch.randint(0, 10, (n,), device=dev)

model = mlp()
opt = torch.optim.Adam(model.parameters())
for step in range(15):
    opt.zero_grad()
    for task in range(3):
        weights = dict(model.named_parameters())
        for inner in range(2):
            x, y = batch(16)
            loss = F.cross_entropy(torch.func.functional_call(model, weights, (x,)), y)
            grads = torch.autograd.grad(loss, list(weights.values()), create_graph=True)
            weights = {n: w - 0.1 * g for (n, w), g in zip(weights.items(), grads)}
        x, y = batch(16)
        F.cross_entropy(torch.func.functional_call(model, weights, (x,)), y).backward()
    opt.step()
