# half: first
# kind: python
# names: table
# bytes: 16777216
"""lru_cache on a method of a module: the cache belongs to the class, and keeps self and a table for each length
(ParlAI#2487, transformers#45708, pytorch#127686). To change: a small maxsize, or a cache in the instance."""
import functools

import torch


class RelativePositions(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(1024, 16))

    @functools.lru_cache(maxsize=None)
    def table(self, length):
        return torch.zeros(length, 1024, device="cuda")

    def forward(self, length):
        return self.table(length) @ self.weight


def train():
    model = RelativePositions().to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for length in range(250, 266):
        loss = model(length).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


train()
