# half: seventh
# kind: python
# names: cached cacher
# or: cached StateCacher
# or: cached LRFinder
# bytes: 25165824
"""Before each stage of a training a finder tries learning rates, and puts the model back to where it was: a cacher has
copies of its state by name. The names have the number of the stage in them, and a copy that was used stays (as in the
state cacher of pytorch-lr-finder, and questions on learning rate finders that take memory). To change:
self.cached.pop(name) in retrieve(), or copies on the CPU."""
import copy
import time

import torch


class StateCacher:
    def __init__(self):
        self.cached = {}

    def store(self, name, state):
        self.cached[name] = copy.deepcopy(state)

    def retrieve(self, name):
        return self.cached[name]


class LRFinder:
    def __init__(self, cacher):
        self.cacher = cacher

    def range_test(self, stage, model, images):
        self.cacher.store(f"model_{stage}", model.state_dict())
        losses = {}
        for rate in (1e-4, 1e-2, 1.0):
            losses[rate] = train_step(model, torch.optim.SGD(model.parameters(), lr=rate), images)
        model.load_state_dict(self.cacher.retrieve(f"model_{stage}"))
        return min(losses, key=losses.get)


def train_step(model, optimizer, images):
    optimizer.zero_grad()
    loss = model(images).square().mean()
    loss.backward()
    optimizer.step()
    return loss.item()


def main():
    model = torch.nn.Linear(256, 1024).to("cuda")
    finder = LRFinder(StateCacher())
    for stage in range(24):
        images = torch.randn(32, 256, device="cuda")
        rate = finder.range_test(stage, model, images)
        train_step(model, torch.optim.SGD(model.parameters(), lr=rate), images)
        time.sleep(0.03)  # stands for the time of the kernels


main()
