# half: sixth
# kind: cycle
# names: worker Preloader
# or: fill Preloader
# or: Thread Preloader
# bytes: 16777216
"""A preloader makes its thread when it is made and starts it at the first iteration; a thread drops its function when
it has run, but a look at the first batch alone never starts it, and so preloader and thread hold each other (reports on
threads that are bound to methods). The collector is off. To change: make the thread where it is started."""
import gc
import threading

import torch

gc.disable()


class Preloader:
    def __init__(self, batches):
        self.batches = batches
        self.ready = []
        self.worker = threading.Thread(target=self.fill, daemon=True)

    def fill(self):
        self.ready.extend(self.batches)

    def __iter__(self):
        self.worker.start()
        self.worker.join()
        return iter(self.ready)

    def peek(self):
        return self.batches[0]


def train_step(model, optimizer):
    preloader = Preloader([torch.randn(128, 1024, device="cuda") for _ in range(2)])
    optimizer.zero_grad()
    model(preloader.peek()).square().mean().backward()
    optimizer.step()


model = torch.nn.Linear(1024, 8).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(16):
    train_step(model, optimizer)
