# half: first
# kind: c++ python
# names: kept
# or: scripted
# bytes: 16777216
"""A TorchScript module appends to a list attribute; list and tensors are C++ objects that Python cannot walk (reports
on caches in scripted modules). To change: clear `kept`, or do not keep."""
from typing import List

import torch


class Remember(torch.nn.Module):
    kept: List[torch.Tensor]

    def __init__(self):
        super().__init__()
        self.kept = []

    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        self.kept.append(batch)
        return batch * 2.0


scripted = torch.jit.script(Remember())
model = torch.nn.Linear(64, 1024).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(16):
    output = model(torch.randn(256, 64, device="cuda"))
    loss = output.square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scripted(output.detach())
