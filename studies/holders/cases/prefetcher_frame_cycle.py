# half: third
# kind: cycle
# names: iterator Prefetcher
# bytes: 16777216
"""A prefetcher keeps the generator of its own method, whose frame has the prefetcher as self; each epoch leaves one
half read. gc.freeze() after each epoch was meant to make the collector faster, and takes the garbage out of its sight
for ever. To change: close() the generator, and freeze once, after gc.collect(), before training."""
import gc

import torch


class Prefetcher:
    def __init__(self, batches):
        self.batches = batches
        self.ahead = None
        self.iterator = self.produce()

    def produce(self):
        for _ in range(self.batches):
            self.ahead = torch.randn(256, 1024, device="cuda")
            yield self.ahead

    def next(self):
        return next(self.iterator)


def train_epoch(model, optimizer):
    prefetcher = Prefetcher(batches=100)
    for _ in range(2):
        optimizer.zero_grad()
        model(prefetcher.next()).square().mean().backward()
        optimizer.step()


model = torch.nn.Linear(1024, 8).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(16):
    train_epoch(model, optimizer)
    gc.freeze()
