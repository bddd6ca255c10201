# half: third
# kind: python
# names: last_batches excepthook
# or: last_batches CrashReport
# bytes: 16777216
"""A report of crashes is installed as sys.excepthook, and is given each batch so that it could write the last ones to a
file; "last" was never written. Only sys has the report. To change: a deque of two."""
import sys

import torch


class CrashReport:
    def __init__(self, next_hook):
        self.next_hook = next_hook
        self.last_batches = {}

    def note(self, step, batch):
        self.last_batches[step] = batch

    def __call__(self, kind, error, traceback):
        print(f"crashed with {len(self.last_batches)} batches")
        self.next_hook(kind, error, traceback)


def fit(model, optimizer):
    for step in range(16):
        batch = torch.randn(256, 1024, device="cuda")
        sys.excepthook.note(step, batch)
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        optimizer.step()


sys.excepthook = CrashReport(sys.excepthook)
model = torch.nn.Linear(1024, 8).to("cuda")
fit(model, torch.optim.SGD(model.parameters(), lr=0.1))
