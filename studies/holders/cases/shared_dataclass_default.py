# half: fifth
# kind: python
# names: history Trial
# or: outputs Trial
# or: outputs History
# or: outputs history
# bytes: 16777216
"""A dataclass refuses a list as a default, but not an object with a list in it: all trials of a search share the one
history that was made with the class, and it outlives each of them (questions on dataclasses with mutable defaults). To
change: field(default_factory=History)."""
import dataclasses

import torch


class History:
    def __init__(self):
        self.outputs = []

    def add(self, output):
        self.outputs.append(output)


@dataclasses.dataclass
class Trial:
    rate: float
    history: History = History()

    def run(self):
        model = torch.nn.Linear(64, 1024).to("cuda")
        optimizer = torch.optim.SGD(model.parameters(), lr=self.rate)
        output = model(torch.randn(256, 64, device="cuda"))
        output.square().mean().backward()
        optimizer.step()
        self.history.add(output.detach())
        return len(self.history.outputs)


def search():
    for number in range(16):
        Trial(rate=0.1 / (number + 1)).run()


search()
