# half: fourth
# kind: cycle autograd c++
# names: PredictionStrategy
# or: clear_cache
# bytes: 16777216
"""A prediction caches its mean and hooks the node of it, so that backward() clears the cache; the hook holds the
prediction, the prediction the mean, the mean the node, and the node the hook, through C++ where no collector goes
(gpytorch#2734, botorch#2728). To change: a weak reference to the prediction in the hook."""
import functools

import torch


def clear_cache(strategy, inputs, outputs):
    strategy.cache.clear()


class PredictionStrategy:
    def __init__(self, features):
        self.features = features
        self.cache = {}

    def mean(self):
        if "mean" not in self.cache:
            mean = torch.sigmoid(self.features)
            mean.grad_fn.register_hook(functools.partial(clear_cache, self))
            self.cache["mean"] = mean
        return self.cache["mean"]


def acquire(model):
    strategy = PredictionStrategy(model(torch.randn(128, 64, device="cuda")))
    return strategy.mean().detach().max()


model = torch.nn.Linear(64, 1024).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(16):
    optimizer.zero_grad()
    model(torch.randn(8, 64, device="cuda")).square().mean().backward()
    optimizer.step()
    acquire(model)
