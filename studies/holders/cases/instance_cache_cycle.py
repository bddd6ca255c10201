# half: third
# kind: cycle
# names: encode Encoder
# bytes: 16777216
"""A cache of a method is made in __init__ for each instance, so that it goes with the instance, as one often reads; but
the cache holds the bound method, and the method the instance. The threshold of the collector was raised. To change: a
dict in the instance, or encode.cache_clear() at the end."""
import functools
import gc

import torch

gc.set_threshold(200000, 100, 100)


class Encoder:
    def __init__(self, model):
        self.model = model
        self.encode = functools.lru_cache(maxsize=None)(self.encode)

    def encode(self, length):
        with torch.no_grad():
            return self.model(torch.randn(length, 64, device="cuda"))


def train_step(model, head, optimizer):
    encoder = Encoder(model)
    features = torch.cat([encoder.encode(length) for length in (64, 192, 64)])
    optimizer.zero_grad()
    head(features).square().mean().backward()
    optimizer.step()


backbone = torch.nn.Linear(64, 1024).to("cuda")
head = torch.nn.Linear(1024, 8).to("cuda")
optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
for step in range(16):
    train_step(backbone, head, optimizer)
