# half: fifth
# kind: python
# names: jobs background
# or: jobs Background
# or: jobs PriorityQueue
# bytes: 16777216
"""Work beside the training waits in a PriorityQueue, and one job is done after each step; each step adds a job that is
urgent and one that can wait, so those that can wait, which have the features, wait for ever (questions on starving
queues). To change: a limit for jobs of low priority, or features on the CPU."""
import dataclasses
import queue

import torch


@dataclasses.dataclass(order=True)
class Job:
    priority: int
    step: int
    arguments: tuple = dataclasses.field(compare=False)


class Background:
    def __init__(self):
        self.jobs = queue.PriorityQueue()
        self.done = []

    def add(self, priority, step, *arguments):
        self.jobs.put(Job(priority, step, arguments))

    def do_one(self):
        job = self.jobs.get()
        self.done.append((job.priority, job.step))


class Training:
    def __init__(self):
        self.model = torch.nn.Linear(64, 1024).to("cuda")
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.background = Background()

    def step(self, number):
        features = self.model(torch.randn(256, 64, device="cuda"))
        self.optimizer.zero_grad()
        features.square().mean().backward()
        self.optimizer.step()
        self.background.add(0, number, "write the log")
        self.background.add(9, number, "draw the features", features.detach())
        self.background.do_one()


training = Training()
for number in range(16):
    training.step(number)
