# half: first
# kind: cycle
# names: trainer Net
# bytes: 16777216
"""Each trial of a search makes a trainer and a network that know each other, and the collector was switched off for
speed (pytorch#50185, pytorch#20199). To change: a weak reference for `trainer`, or gc.collect() after a trial."""
import gc

import torch

gc.disable()


class Net(torch.nn.Module):
    def __init__(self, trainer):
        super().__init__()
        self.layer = torch.nn.Linear(1024, 256)
        object.__setattr__(self, "trainer", trainer)


class Trainer:
    def __init__(self):
        self.net = Net(self).to("cuda")
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)

    def step(self):
        self.optimizer.zero_grad()
        self.net.layer(torch.randn(8, 1024, device="cuda")).square().mean().backward()
        self.optimizer.step()
        self.optimizer.zero_grad()


for trial in range(16):
    Trainer().step()
