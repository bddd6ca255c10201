# half: third
# kind: python
# names: features_of
# or: sample Features
# bytes: 16777216
"""Features of a sample are in a WeakKeyDictionary by sample, so that they go with it; but the features know their
sample, and the dictionary holds its values: no sample ever goes. A trap that the notes on weakref warn of. To change:
no `sample` in Features, or a weak reference to it."""
import weakref

import torch


class Sample:
    def __init__(self, number):
        self.number = number


class Features:
    def __init__(self, sample, values):
        self.sample = sample
        self.values = values


features_of = weakref.WeakKeyDictionary()


def extract(sample, model):
    if sample not in features_of:
        with torch.no_grad():
            features_of[sample] = Features(sample, model(torch.randn(256, 64, device="cuda")))
    return features_of[sample].values


def main():
    backbone = torch.nn.Linear(64, 1024).to("cuda")
    head = torch.nn.Linear(1024, 8).to("cuda")
    optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
    for number in range(16):
        optimizer.zero_grad()
        head(extract(Sample(number), backbone)).square().mean().backward()
        optimizer.step()


main()
