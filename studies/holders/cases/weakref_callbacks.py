# half: fourth
# kind: python
# names: references watcher
# or: references Watcher
# or: features watch
# or: features gone
# bytes: 16777216
"""A watcher wants to know when a sample goes and has a weak reference to each, with a callback that sums the features
of the sample at that time; the samples stay in the data set, and a callback keeps what it needs (notes on callbacks of
weakref). To change: compute the sum now, and give the callback a number."""
import weakref

import torch


class Sample:
    def __init__(self, number):
        self.number = number

    def load(self):
        return torch.randn(256, 64, device="cuda")


class Watcher:
    def __init__(self):
        self.references = []
        self.total = 0.0

    def watch(self, sample, features):
        def gone(_):
            self.total = self.total + features.sum()

        self.references.append(weakref.ref(sample, gone))


dataset = [Sample(number) for number in range(16)]
watcher = Watcher()
model = torch.nn.Linear(64, 1024).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for sample in dataset:
    output = model(sample.load())
    watcher.watch(sample, output.detach())
    optimizer.zero_grad()
    output.square().mean().backward()
    optimizer.step()
