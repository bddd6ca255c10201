"""Batches of a loader with workers are kept on the device."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
dev = "cuda"
ds = TensorDataset(torch.randn(640, 64), torch.randint(0, 10, (640,)))
model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)).to(dev)
opt = torch.optim.Adam(model.parameters())
if __name__ == "__main__":
    seen = []
    for epoch in range(2):
        for x, y in DataLoader(ds, batch_size=32, num_workers=2):
            x = x.to(dev, non_blocking=True)  # LEAK
            y = y.to(dev)
            loss = F.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            seen.append(x)
