# half: third
# kind: python
# names: scope pipeline
# or: scope Pipeline
# bytes: 16777216
"""Stages of a pipeline find their inputs by name in a ChainMap; each step opens a new scope over the last one, and
nobody goes back to the parents, so the names of old steps stay behind the new ones. To change: self.scope =
self.scope.parents at the end of a step."""
import collections

import torch


class Pipeline:
    def __init__(self, model):
        self.scope = collections.ChainMap({"model": model, "optimizer": torch.optim.SGD(model.parameters(), lr=0.1)})
        self.stages = [self.read, self.encode, self.update]

    def read(self):
        self.scope["images"] = torch.randn(256, 64, device="cuda")

    def encode(self):
        self.scope["features"] = self.scope["model"](self.scope["images"])

    def update(self):
        self.scope["optimizer"].zero_grad()
        self.scope["features"].square().mean().backward()
        self.scope["optimizer"].step()

    def run(self, steps):
        for _ in range(steps):
            self.scope = self.scope.new_child()
            for stage in self.stages:
                stage()


pipeline = Pipeline(torch.nn.Linear(64, 1024).to("cuda"))
pipeline.run(16)
