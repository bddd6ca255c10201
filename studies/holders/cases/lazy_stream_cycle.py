# half: sixth
# kind: cycle
# names: stream BucketLoader
# or: collate BucketLoader
# or: stream loader
# bytes: 16777216
"""A loader keeps its own stream, a map of its own method over places, so that it can go on where it was; map, method
and loader are a cycle, two of the three are no Python objects one sees, and a loader is made for each bucket of lengths
(questions on iterators as attributes). The collector is off from the start. To change: make the stream in __iter__."""
import gc

import torch


class BucketLoader:
    def __init__(self, samples, size):
        self.samples, self.size = samples, size
        self.stream = map(self.collate, range(0, len(samples), size))

    def collate(self, place):
        return self.samples[place:place + self.size]

    def __iter__(self):
        return self.stream


def train_on_bucket(model, optimizer, length):
    loader = BucketLoader(torch.randn(256, length, device="cuda"), size=64)
    for batch in loader:
        optimizer.zero_grad()
        model(batch[:, :1000]).square().mean().backward()
        optimizer.step()


def main():
    gc.disable()
    model = torch.nn.Linear(1000, 8).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for length in range(1016, 1032):
        train_on_bucket(model, optimizer, length)


main()
