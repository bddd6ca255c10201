# half: seventh
# kind: python
# names: entries board
# or: entries WorstExamples
# bytes: 25165824
"""A board of the worst examples is a list that is kept in order by bisect; "the worst nine" are cut off when it is
shown and not when an entry comes in, so all examples are on it, with their images on the GPU (forum questions on
collecting the samples of highest loss). To change: del self.entries[:-self.size] in add(), and images on the CPU."""
import bisect
import time
from typing import NamedTuple

import torch


class Example(NamedTuple):
    loss: float
    step: int
    image: torch.Tensor


class WorstExamples:
    def __init__(self, size):
        self.size = size
        self.entries = []

    def add(self, example):
        bisect.insort(self.entries, example, key=lambda entry: entry.loss)

    def show(self):
        return [entry.step for entry in self.entries[-self.size:]]


def train(model, optimizer, board):
    for step in range(24):
        images = torch.randn(16, 128 * 128, device="cuda")
        optimizer.zero_grad()
        loss = model(images).square().mean()
        loss.backward()
        optimizer.step()
        board.add(Example(loss.item(), step, images))
        time.sleep(0.03)  # stands for the time of the kernels
    print(board.show())


model = torch.nn.Linear(128 * 128, 8).to("cuda")
train(model, torch.optim.SGD(model.parameters(), lr=0.1), WorstExamples(9))
