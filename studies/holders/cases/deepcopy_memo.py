# half: fourth
# kind: python
# names: memo
# bytes: 16777216
"""Copies for a report are made with one memo for all calls of copy.deepcopy, so that what is shared is copied once; but
a memo keeps each copy, and the original as well, and the copies are thrown away after a look (the notes of the copy
module). To change: a new memo in each call."""
import copy

import torch


class Reporter:
    def __init__(self):
        self.memo = {}
        self.shapes = []

    def report(self, results):
        frozen = copy.deepcopy(results, self.memo)
        self.shapes.append([value.shape for value in frozen.values()])


def train(model, optimizer, reporter):
    for _ in range(16):
        output = model(torch.randn(128, 64, device="cuda"))
        optimizer.zero_grad()
        output.square().mean().backward()
        optimizer.step()
        reporter.report({"output": output.detach()})
        del output


model = torch.nn.Linear(64, 1024).to("cuda")
train(model, torch.optim.SGD(model.parameters(), lr=0.1), Reporter())
