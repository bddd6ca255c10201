# half: second
# kind: python
# names: debug_batches
# bytes: 16777216
"""Someone hung a list on an imported module to look at batches from another place (`math.debug_batches`); such things
stay in programs. To change: take the line out."""
import math

import torch


def inspect_batch(batch):
    if not hasattr(math, "debug_batches"):
        math.debug_batches = []
    math.debug_batches.append(batch)


class Training:
    def __init__(self):
        self.model = torch.nn.Linear(1024, 16).to("cuda")
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def run(self):
        for _ in range(16):
            batch = torch.randn(256, 1024, device="cuda")
            inspect_batch(batch)
            self.optimizer.zero_grad()
            self.model(batch).square().mean().backward()
            self.optimizer.step()


Training().run()
