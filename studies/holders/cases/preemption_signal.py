# half: fourth
# kind: python c++
# names: unsaved PreemptionGuard
# or: unsaved save_all
# or: unsaved remember
# bytes: 16777216
"""On a cluster that may stop a job, a guard saves what is not saved yet when SIGTERM comes. The guard is known only to
the table of signals and to the method that a training calls; it is told of all results and never that they are on the
disk (recipes for preemptible jobs). To change: drop a result when it is saved."""
import signal
import sys

import torch


class PreemptionGuard:
    def __init__(self):
        self.unsaved = {}
        signal.signal(signal.SIGTERM, self.save_all)

    def remember(self, step, result):
        self.unsaved[step] = result

    def save_all(self, number, frame):
        for step, result in self.unsaved.items():
            torch.save(result.cpu(), f"result-{step}.pt")
        sys.exit(0)


def remember(step, result):
    signal.getsignal(signal.SIGTERM).__self__.remember(step, result)


def train(model, optimizer):
    for step in range(16):
        output = model(torch.randn(256, 64, device="cuda"))
        optimizer.zero_grad()
        output.square().mean().backward()
        optimizer.step()
        remember(step, output.detach())


PreemptionGuard()
model = torch.nn.Linear(64, 1024).to("cuda")
train(model, torch.optim.SGD(model.parameters(), lr=0.1))
