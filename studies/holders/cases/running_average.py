# half: second
# kind: autograd
# names: running meter
# bytes: 16777216
"""A meter averages losses that it was given with their graphs (forum: memory grows with a running loss). The meter is
two objects deep. To change: loss.item() at the call, or detach() in update."""
import torch


class Meter:
    def __init__(self):
        self.running = {"train": 0.0, "valid": 0.0}

    def update(self, split, loss):
        self.running[split] = 0.9 * self.running[split] + 0.1 * loss


class Experiment:
    def __init__(self):
        self.meter = Meter()
        self.model = torch.nn.Linear(64, 1024).to("cuda")
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def loss(self, samples):
        return self.model(torch.randn(samples, 64, device="cuda")).square().mean()

    def step(self):
        loss = self.loss(8)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.meter.update("train", loss.item())
        self.meter.update("valid", self.loss(256))


experiment = Experiment()
for _ in range(16):
    experiment.step()
