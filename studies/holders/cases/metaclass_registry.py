# half: second
# kind: python
# names: instances Registry
# or: instances Batch
# bytes: 16777216
"""A metaclass lists every instance of its classes, to find plugins; a batch became one of these classes too. To change:
a WeakSet, or no registry for Batch."""
import torch


class Registry(type):
    def __init__(cls, name, bases, body):
        super().__init__(name, bases, body)
        cls.instances = []

    def __call__(cls, *arguments):
        instance = super().__call__(*arguments)
        cls.instances.append(instance)
        return instance


class Batch(metaclass=Registry):
    def __init__(self, values):
        self.values = values


def train(steps):
    model = torch.nn.Linear(1024, 16).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        batch = Batch(torch.randn(256, 1024, device="cuda"))
        optimizer.zero_grad()
        model(batch.values).square().mean().backward()
        optimizer.step()


train(16)
