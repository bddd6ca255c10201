# half: first
# kind: python
# names: values Tracker
# bytes: 16777216
"""A tracker is a singleton that the class itself holds, so `del tracker` at the end of a run frees nothing. To change:
Tracker().values.clear() between runs, and floats."""
import torch


class Tracker:
    _only = None

    def __new__(cls):
        if cls._only is None:
            cls._only = super().__new__(cls)
            cls._only.values = {}
        return cls._only

    def log(self, name, value):
        self.values.setdefault(name, []).append(value)


def run(model, optimizer):
    tracker = Tracker()
    output = model(torch.randn(256, 64, device="cuda"))
    optimizer.zero_grad()
    output.square().mean().backward()
    optimizer.step()
    tracker.log("output", output.detach())
    del tracker


model = torch.nn.Linear(64, 1024).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(16):
    run(model, optimizer)
