"""A moving average of the model, a schedule, and clipped gradients."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
dev = "cuda"
model = nn.Sequential(
    nn.Conv2d(3, 16, 3, padding=1),
    nn.BatchNorm2d(16),
    nn.ReLU(),
    nn.AdaptiveAvgPool2d(4),
    nn.Flatten(),
    nn.Linear(256, 10),
).to(dev)
ema = torch.optim.swa_utils.AveragedModel(model)
opt = torch.optim.AdamW(model.parameters())
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 50)
for step in range(50):
    x = torch.randn(8, 3, 32, 32, device=dev)
    y = torch.randint(0, 10, (8,), device=dev)
    loss = F.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    sched.step()
    ema.update_parameters(model)
