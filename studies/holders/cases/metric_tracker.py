# half: seventh
# kind: python
# names: preds tracker
# or: preds MetricTracker
# bytes: 25165824
"""A tracker of metrics has a copy of a metric for each epoch, to tell the best of them at the end; the metric is one
that lists its predictions, and the tracker is a ModuleList of all copies (torchmetrics#1949 is about memory of metrics
that list, and MetricTracker keeps one for each increment). To change: keep what compute() gave for old epochs, or
compute_on_cpu."""
import copy
import time

import torch


class AveragePrecision(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.preds = []

    def update(self, preds):
        self.preds.append(preds)

    def compute(self):
        return torch.cat(self.preds).mean()


class MetricTracker(torch.nn.ModuleList):
    def __init__(self, metric):
        super().__init__()
        self._base = [metric]

    def increment(self):
        self.append(copy.deepcopy(self._base[0]))

    def update(self, preds):
        self[-1].update(preds)

    def compute(self):
        return self[-1].compute()


def main():
    model = torch.nn.Linear(64, 512).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    tracker = MetricTracker(AveragePrecision())
    for epoch in range(12):
        tracker.increment()
        for _ in range(2):
            batch = torch.randn(512, 64, device="cuda")
            optimizer.zero_grad()
            model(batch).square().mean().backward()
            optimizer.step()
            with torch.no_grad():
                tracker.update(model(batch).sigmoid())
            time.sleep(0.03)  # stands for the time of the kernels
        print(epoch, tracker.compute().item())


main()
