# half: second
# kind: python
# names: listeners bus
# bytes: 16777216
"""Each step makes an evaluator and subscribes its method to a bus; the bus keeps the method, the method its object,
and the object its targets. The lapsed listener of the textbooks. To change: unsubscribe."""
import torch


class Bus:
    def __init__(self):
        self.listeners = {"end": []}

    def subscribe(self, event, function):
        self.listeners[event].append(function)


class Evaluator:
    def __init__(self, targets):
        self.targets = targets

    def finish(self):
        return self.targets.mean()


bus = Bus()


def step(model, optimizer):
    targets = torch.randn(256, 1024, device="cuda")
    bus.subscribe("end", Evaluator(targets).finish)
    loss = (model(torch.randn(256, 64, device="cuda")) - targets).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


net = torch.nn.Linear(64, 1024).to("cuda")
sgd = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(16):
    step(net, sgd)
