"""Expandable segments, which are virtual memory that grows and shrinks."""
import os

os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"

import torch  # noqa: E402
from torch import nn  # noqa: E402

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(512, 2048), nn.ReLU(), nn.Linear(2048, 512)).cuda()
optimizer = torch.optim.AdamW(model.parameters())
for step in range(6):
    x = torch.randn(64 << step, 512, device="cuda")
    model(x).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
assert any(segment["is_expandable"] for segment in torch.cuda.memory_snapshot())
del x
torch.cuda.empty_cache()
print("reserved", torch.cuda.memory_reserved(), "of", torch.cuda.max_memory_reserved())
