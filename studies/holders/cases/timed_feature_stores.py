# half: sixth
# kind: cycle
# names: features FeatureStore
# or: encode FeatureStore
# or: features store
# bytes: 16777216
"""A store computes features when they are first asked for, by a defaultdict whose factory is a method of the store: the
store has the dict, the dict the method, and the method the store. Steps are timed with the collector off, as timeit
does, and nobody switches it on again (reports on benchmarks that run out of memory). To change: __missing__ in a dict
of its own, or gc.enable() in a finally clause."""
import collections
import gc
import time

import torch


class FeatureStore:
    def __init__(self, model):
        self.model = model
        self.features = collections.defaultdict(self.encode)

    @torch.no_grad()
    def encode(self):
        return self.model(torch.randn(256, 64, device="cuda"))


def seconds_of(action):
    gc.disable()
    begin = time.perf_counter()
    action()
    return time.perf_counter() - begin


def main():
    model = torch.nn.Linear(64, 1024).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        store = FeatureStore(model)
        optimizer.zero_grad()
        (model(torch.randn(256, 64, device="cuda")) - store.features["validation"]).square().mean().backward()
        optimizer.step()

    for _ in range(16):
        seconds_of(step)


main()
