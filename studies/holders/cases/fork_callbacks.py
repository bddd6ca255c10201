# half: fifth
# kind: c++ python
# names: FeatureCache
# or: forget
# or: features
# bytes: 16777216
"""A cache must be empty in a child process, so each cache registers with os.register_at_fork a method that empties it;
the interpreter keeps such functions in a table of its own, from which nothing can be taken, and there is a cache for
each step (reports on objects that register themselves for forks). To change: register once, with a WeakSet of
caches."""
import os

import torch


class FeatureCache:
    def __init__(self):
        self.features = None
        os.register_at_fork(after_in_child=self.forget)

    def forget(self):
        self.features = None

    def fill(self, model, batch):
        with torch.no_grad():
            self.features = model(batch)
        return self.features


def train_step(model, optimizer):
    cache = FeatureCache()
    optimizer.zero_grad()
    model(torch.randn(32, 64, device="cuda")).square().mean().backward()
    optimizer.step()
    return cache.fill(model, torch.randn(256, 64, device="cuda")).shape


def main():
    model = torch.nn.Linear(64, 1024).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(16):
        train_step(model, optimizer)


main()
