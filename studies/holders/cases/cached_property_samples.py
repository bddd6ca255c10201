# half: second
# kind: python
# names: embedding samples
# bytes: 16777216
"""Samples are light until their cached_property is read once; then each keeps its embedding for good, in the instance's
dict. To change: a plain property, or del sample.embedding after use."""
import functools

import torch


class Sample:
    encoder = torch.nn.Linear(64, 1024, device="cuda")

    def __init__(self, number):
        self.number = number

    @functools.cached_property
    def embedding(self):
        with torch.no_grad():
            return self.encoder(torch.randn(256, 64, device="cuda"))


def train(samples):
    head = torch.nn.Linear(1024, 8).to("cuda")
    optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
    for sample in samples:
        loss = head(sample.embedding).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


samples = [Sample(number) for number in range(16)]
train(samples)
