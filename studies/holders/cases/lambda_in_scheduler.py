# half: first
# kind: python
# names: deferred scheduler
# or: deferred Scheduler
# bytes: 12582912
"""Lambdas that a home-made scheduler should call later capture the batch that was current when they were made. To
change: capture what is needed, and drop the lambdas that were called."""
import torch


class Scheduler:
    def __init__(self):
        self.deferred = {}

    def later(self, when, function):
        self.deferred.setdefault(when, []).append(function)

    def tick(self, now):
        for function in self.deferred.get(now, ()):
            function()


def plan(scheduler, step, batch):
    scheduler.later(step + 2, lambda: batch.mean())


scheduler = Scheduler()
model = torch.nn.Linear(1024, 16).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(12):
    scheduler.tick(step)
    batch = torch.randn(256, 1024, device="cuda")
    plan(scheduler, step, batch)
    optimizer.zero_grad()
    model(batch).square().mean().backward()
    optimizer.step()
