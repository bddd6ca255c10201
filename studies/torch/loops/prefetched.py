"""The next batch is copied to the GPU while the current one is processed."""
# steps: 40

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
side = torch.cuda.Stream()


def load():
    with torch.cuda.stream(side):
        return torch.randn(256, 64).pin_memory().to(dev, non_blocking=True), torch.randint(0, 10, (256,)).to(dev)


following = load()
for step in range(40):
    torch.cuda.current_stream().wait_stream(side)
    x, y = following
    following = load()
    loss = F.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
