# half: first
# kind: python
# names: cleanup
# bytes: 16777216
"""An ExitStack for the whole run gets a callback for each step, with the targets of the step as an argument. To change:
a `with` for each step, or callbacks without tensors."""
import contextlib

import torch


def report(targets, step):
    assert len(targets), step


def train(cleanup):
    model = torch.nn.Linear(64, 1024).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(16):
        targets = torch.randn(256, 1024, device="cuda")
        cleanup.callback(report, targets, step)
        optimizer.zero_grad()
        (model(torch.randn(256, 64, device="cuda")) - targets).square().mean().backward()
        optimizer.step()


with contextlib.ExitStack() as cleanup:
    train(cleanup)
