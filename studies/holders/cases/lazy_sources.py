# half: fifth
# kind: python
# names: source summaries
# or: source Lazy
# or: value summaries
# bytes: 16777216
"""Summaries of outputs are lazy values: a function and its source, which is lazy too. Once computed a value is kept, as
it should be, but so is the source that it was computed from (questions on lazy pipelines). To change: self.source =
None in compute()."""
import functools

import torch


class Lazy:
    def __init__(self, function, source=None):
        self.function = function
        self.source = source
        self.value = None

    def then(self, function):
        return Lazy(function, self)

    def compute(self):
        if self.value is None:
            self.value = self.function(self.source.compute()) if self.source else self.function()
        return self.value


@torch.no_grad()
def outputs_of(model, number):
    return model(torch.randn(number, 64, device="cuda"))


model = torch.nn.Linear(64, 1024).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
summaries = []
for step in range(16):
    optimizer.zero_grad()
    model(torch.randn(32, 64, device="cuda")).square().mean().backward()
    optimizer.step()
    summaries.append(Lazy(functools.partial(outputs_of, model, 256)).then(torch.mean))
    summaries[-1].compute()
