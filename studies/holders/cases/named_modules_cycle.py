# half: fifth
# kind: cycle
# names: parts Ensemble
# or: parts self
# bytes: 25165824
"""A model keeps a dict of its parts, to find them by name, and the first of named_modules() is the model itself, under
an empty name: the model has the dict, and the dict the model (questions on models that `del` does not free). The
collector is frozen and off after the start, as servers do it. To change: leave the empty name out, or ask
get_submodule()."""
import gc

import torch


class Ensemble(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(64, 2048)
        self.second = torch.nn.Linear(2048, 64)
        self.parts = dict(self.named_modules())

    def forward(self, x, names=("first", "second")):
        for name in names:
            x = torch.relu(self.parts[name](x))
        return x


def try_once(rate):
    model = Ensemble().to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    model(torch.randn(32, 64, device="cuda")).square().mean().backward()
    optimizer.step()


gc.freeze()
gc.disable()
for number in range(12):
    try_once(0.1 / (number + 1))
