# half: fifth
# kind: python
# names: fwd_cache
# bytes: 16777216
"""A stage of a pipeline keeps the output of each chunk until its backward pass takes it out; in validation there is
none, and chunks are numbered on and on (pytorch#128910 and pytorch#159251 are about such caches). To change: do not
fill fwd_cache when gradients are off."""
import itertools

import torch


class Stage:
    def __init__(self, module):
        self.module = module
        self.fwd_cache = {}

    def forward(self, chunk, x):
        output = self.module(x)
        self.fwd_cache[chunk] = (x, output)
        return output

    def backward(self, chunk, gradient):
        x, output = self.fwd_cache.pop(chunk)
        output.backward(gradient)
        return x.grad


class Schedule:
    def __init__(self, *stages):
        self.stages = stages
        self.chunks = itertools.count()

    def run(self, x, backward=True):
        chunk = next(self.chunks)
        for stage in self.stages:
            x = stage.forward(chunk, x.detach().requires_grad_(backward))
        gradient = torch.ones_like(x)
        if backward:
            for stage in reversed(self.stages):
                gradient = stage.backward(chunk, gradient)


def main():
    modules = torch.nn.ModuleList([torch.nn.Linear(64, 1024), torch.nn.Linear(1024, 64)]).to("cuda")
    schedule = Schedule(*map(Stage, modules))
    optimizer = torch.optim.SGD(modules.parameters(), lr=0.1)
    for step in range(16):
        optimizer.zero_grad()
        schedule.run(torch.randn(32, 64, device="cuda"))
        optimizer.step()
        with torch.no_grad():
            schedule.run(torch.randn(256, 64, device="cuda"), backward=False)


main()
