# half: second
# kind: cycle
# names: activate Block
# bytes: 16777216
"""A module chooses its activation by assigning one of its own methods to an attribute: a bound method holds the module
(pytorch#128211). New modules are made at each step of a search. To change: keep the name of the method."""
import gc

import torch

gc.set_threshold(0)


class Block(torch.nn.Module):
    def __init__(self, smooth):
        super().__init__()
        self.register_buffer("table", torch.zeros(256, 1024))
        self.activate = self.smooth if smooth else self.hard

    def smooth(self, values):
        return values.tanh() + self.table.mean()

    def hard(self, values):
        return values.relu()


def main():
    model = torch.nn.Linear(64, 16).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(16):
        block = Block(smooth=step % 2 == 0).to("cuda")
        optimizer.zero_grad()
        block.activate(model(torch.randn(8, 64, device="cuda"))).mean().backward()
        optimizer.step()


main()
