"""A network that torch.compile compiles with its default backend, which needs Triton. check_compiled knows the lines
that are marked."""
import sys

import torch
from torch import nn

ROWS, WIDTH = 1024, 512


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        hidden = torch.nn.functional.gelu(self.up(self.norm(x)))  # marked: up
        return x + self.down(hidden)


model = nn.Sequential(Block(), Block()).cuda()
compiled = torch.compile(model, mode=None if len(sys.argv) < 2 else sys.argv[1])
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    compiled(torch.zeros(ROWS, WIDTH, device="cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
