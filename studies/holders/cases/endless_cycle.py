# half: third
# kind: python
# names: endless
# bytes: 16777216
"""itertools.cycle makes a loader endless, and saves each batch of the first round to give it again: the whole epoch is
on the GPU (pytorch#23900). To change: a generator with two loops, which starts the loader again."""
import itertools

import torch


class Images(torch.utils.data.IterableDataset):
    def __iter__(self):
        for _ in range(1000):
            yield torch.randn(256, 1024, device="cuda")


class Trainer:
    def __init__(self, loader):
        self.endless = itertools.cycle(loader)
        self.model = torch.nn.Linear(1024, 8).to("cuda")
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def step(self):
        self.optimizer.zero_grad()
        self.model(next(self.endless)).square().mean().backward()
        self.optimizer.step()


trainer = Trainer(torch.utils.data.DataLoader(Images(), batch_size=None))
for step in range(16):
    trainer.step()
