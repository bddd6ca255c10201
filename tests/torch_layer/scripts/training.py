"""A few steps of training; losses are kept with their graphs."""
import torch
from torch import nn

torch.manual_seed(0)
history = []
model = nn.Sequential(nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 256)).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(8):
    batch = torch.randn(64, 256, device="cuda")
    loss = (model(batch) - batch).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    history.append(loss)
