# half: second
# kind: python
# names: pinned prefetcher
# or: pinned Prefetcher
# bytes: 16777216
"""Batches are in a WeakValueDictionary, so that they go when nobody uses them; but the prefetcher that made them has a
list of its own, against reuse by another stream. To change: trim `pinned` when a batch was used."""
import weakref

import torch


class Batch:
    def __init__(self, values):
        self.values = values


class Prefetcher:
    def __init__(self):
        self.pinned = []

    def load(self):
        batch = Batch(torch.randn(256, 1024, device="cuda"))
        self.pinned.append(batch)
        return batch


by_number = weakref.WeakValueDictionary()
prefetcher = Prefetcher()
model = torch.nn.Linear(1024, 16).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for number in range(16):
    by_number[number] = prefetcher.load()
    loss = model(by_number[number].values).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
