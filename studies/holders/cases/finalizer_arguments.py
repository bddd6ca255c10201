# half: first
# kind: python
# names: finalize
# bytes: 16777216
"""weakref.finalize holds the arguments of its callback until the object goes; here they are features, and the objects
are step records that live on in a list. To change: give the finalizer a number or a file name."""
import weakref

import torch


class StepRecord:
    def __init__(self, step):
        self.step = step


def flush(features, path):
    print("write", path, features.shape)


def main():
    records = []
    model = torch.nn.Linear(64, 1024).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(16):
        features = model(torch.randn(256, 64, device="cuda"))
        optimizer.zero_grad()
        features.square().mean().backward()
        optimizer.step()
        record = StepRecord(step)
        weakref.finalize(record, flush, features.detach(), f"{step}.pt").atexit = False
        records.append(record)


main()
