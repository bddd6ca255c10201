# half: second
# kind: python
# names: kept Recorded
# or: kept hidden
# bytes: 16777216
"""A descriptor records what was assigned to it, for each instance, in a dict of its own that no instance shows. To
change: record nothing, or in the instance."""
import torch


class Recorded:
    def __init__(self):
        self.kept = {}

    def __set__(self, owner, value):
        self.kept.setdefault(id(owner), []).append(value)

    def __get__(self, owner, kind=None):
        return self if owner is None else self.kept[id(owner)][-1]


class Loop:
    hidden = Recorded()

    def __init__(self):
        self.model = torch.nn.Linear(64, 1024).to("cuda")
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def step(self):
        output = self.model(torch.randn(256, 64, device="cuda"))
        self.hidden = output.detach()
        self.optimizer.zero_grad()
        output.square().mean().backward()
        self.optimizer.step()


loop = Loop()
for _ in range(16):
    loop.step()
