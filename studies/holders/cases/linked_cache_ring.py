# half: fourth
# kind: cycle
# names: newer Entry
# or: older Entry
# or: features Entry
# bytes: 16777216
"""A cache is a ring of entries that know the newer and the older one, the textbook way to find the least recently used;
each epoch has a new cache, and the old ring is dropped as it is. The threshold of the collector was raised far, a
common advice. To change: unlink the entries in a close(), or an OrderedDict."""
import gc

import torch


class Entry:
    def __init__(self, features=None):
        self.features = features
        self.newer = self
        self.older = self


class EpochCache:
    def __init__(self):
        self.start = Entry()
        self.found = {}

    def add(self, key, features):
        entry = Entry(features)
        entry.newer, entry.older = self.start, self.start.older
        self.start.older.newer = entry
        self.start.older = entry
        self.found[key] = entry


def run_epoch(model, optimizer):
    cache = EpochCache()
    for key in ("left", "right"):
        output = model(torch.randn(128, 64, device="cuda"))
        cache.add(key, output.detach())
        optimizer.zero_grad()
        output.square().mean().backward()
        optimizer.step()


gc.set_threshold(1_000_000, 50, 50)
model = torch.nn.Linear(64, 1024).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(16):
    run_epoch(model, optimizer)
