# half: sixth
# kind: python
# names: problems
# or: features FeatureWriter
# bytes: 16777216
"""Errors in __del__ cannot be raised, so a program collects them by sys.unraisablehook; the error has a traceback, the
traceback the frame of __del__, and so the object that was about to die lives again, with its features (the notes of
sys.unraisablehook, and what test runners do about it). To change: keep str(problem.exc_value), or close the writer by
hand."""
import sys

import torch

problems = []
sys.unraisablehook = problems.append


class FeatureWriter:
    def __init__(self, features):
        self.features = features
        self.file = None

    def __del__(self):
        self.file.write(f"{tuple(self.features.shape)}\n")


def train_step(model, optimizer):
    output = model(torch.randn(256, 64, device="cuda"))
    optimizer.zero_grad()
    output.square().mean().backward()
    optimizer.step()
    return FeatureWriter(output.detach())


model = torch.nn.Linear(64, 1024).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(16):
    train_step(model, optimizer)
