# half: third
# kind: python
# names: delta layer
# or: delta model
# or: delta Delta
# bytes: 12582912
"""For each task a delta is put over a weight as a parametrization; they stack up, since the delta of the task before
was not taken off (reports on adapters that slow down with each load). To change: remove_parametrizations before the
next one."""
import torch
from torch.nn.utils import parametrize


class Delta(torch.nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.register_buffer("delta", torch.zeros(shape, device="cuda"))

    def forward(self, weight):
        return weight + self.delta


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(256, 1024, bias=False)

    def forward(self, images):
        return self.layer(images)


def learn_task(model, optimizer):
    parametrize.register_parametrization(model.layer, "weight", Delta((1024, 256)))
    optimizer.zero_grad()
    model(torch.randn(16, 256, device="cuda")).square().mean().backward()
    optimizer.step()


model = Net().to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for task in range(12):
    learn_task(model, optimizer)
