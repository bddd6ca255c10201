"""A training whose peak is in its activations: as it is, or with a change that `memprof advise` names. Prints the most
that was allocated and reserved, in bytes."""
import sys

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(256), nn.Linear(256, 1024), nn.Linear(1024, 256)

    def forward(self, x):
        y = self.norm(x)
        y = nn.functional.gelu(self.up(y))
        return x + self.down(y)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(Block() for _ in range(6))

    def forward(self, x):
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if change == "checkpointing" else block(x)
        return x


change = sys.argv[1]
model = Model().cuda()
optimizer = torch.optim.AdamW(model.parameters())
parts = 2 if change == "small-batches" else 1
for step in range(4):
    for part in range(parts):
        x = torch.zeros(4096 // parts, 256, device="cuda")
        (nn.functional.mse_loss(model(x), x) / parts).backward()
    optimizer.step()
    optimizer.zero_grad()
torch.cuda.synchronize()
print(torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved())
