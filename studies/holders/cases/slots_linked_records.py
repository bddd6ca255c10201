# half: first
# kind: python
# names: previous latest
# bytes: 16777216
"""Records of steps are a linked list of objects with __slots__: `latest` is one object, and all earlier ones hang on
its slot `previous`. To change: do not link, or keep numbers."""
import torch


class Record:
    __slots__ = ("previous", "output")

    def __init__(self, previous, output):
        self.previous = previous
        self.output = output


model = torch.nn.Linear(64, 1024).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
latest = None
for step in range(16):
    output = model(torch.randn(256, 64, device="cuda"))
    optimizer.zero_grad()
    output.square().mean().backward()
    optimizer.step()
    latest = Record(latest, output.detach())
