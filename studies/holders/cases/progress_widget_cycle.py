# half: third
# kind: cycle
# names: on_close NotebookBar
# or: container NotebookBar
# bytes: 16777216
"""A progress bar for notebooks and its widget know each other: the widget calls a method of the bar when it is closed.
The bar has what it goes over, a list of batches (tqdm#1216). The program collects garbage itself, each 1000 steps, as
large trainings do, and has not come there. To change: a weak reference in the widget, or collect more often."""
import gc

import torch


class Widget:
    def __init__(self):
        self.text = ""
        self.on_close = None


class NotebookBar:
    def __init__(self, iterable):
        self.iterable = iterable
        self.container = Widget()
        self.container.on_close = self.close

    def __iter__(self):
        for number, item in enumerate(self.iterable):
            self.container.text = f"{number}/{len(self.iterable)}"
            yield item

    def close(self):
        self.container.text = "done"


class Collector:
    def __init__(self, every):
        self.every = every
        gc.disable()

    def step(self, number):
        if number % self.every == self.every - 1:
            gc.collect()


def load_epoch():
    return [torch.randn(128, 1024, device="cuda") for _ in range(2)]


def train_epoch(model, optimizer):
    for batch in NotebookBar(load_epoch()):
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        optimizer.step()


collector = Collector(every=1000)
model = torch.nn.Linear(1024, 8).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(16):
    train_epoch(model, optimizer)
    collector.step(epoch)
