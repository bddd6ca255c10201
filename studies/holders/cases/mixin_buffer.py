# half: first
# kind: python
# names: log_buffer experiment
# or: log_buffer Experiment
# bytes: 16777216
"""A mixin adds a buffer to the class that it is mixed into, and flushes it every 1000 calls. The user's class does not
mention it. To change: a smaller log_every."""
import torch


class LoggingMixin:
    log_every = 1000

    def log(self, **values):
        if "log_buffer" not in self.__dict__:
            self.log_buffer = []
        self.log_buffer.append(values)
        if len(self.log_buffer) >= self.log_every:
            self.log_buffer.clear()


class Experiment(LoggingMixin):
    def __init__(self):
        self.model = torch.nn.Linear(64, 1024).to("cuda")
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def step(self, number):
        output = self.model(torch.randn(256, 64, device="cuda"))
        self.optimizer.zero_grad()
        output.square().mean().backward()
        self.optimizer.step()
        self.log(number=number, output=output.detach())


def main():
    experiment = Experiment()
    for number in range(16):
        experiment.step(number)


main()
