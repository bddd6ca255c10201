# half: second
# kind: python
# names: archive
# bytes: 16777216
"""Containers that are classes: a UserDict of subclasses of list, as frameworks have them. To change: bound the archive.
"""
import collections

import torch


class Series(list):
    unit = "logits"


class Archive(collections.UserDict):
    def __missing__(self, name):
        self[name] = Series()
        return self[name]


archive = Archive()
model = torch.nn.Linear(64, 1024).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(16):
    logits = model(torch.randn(256, 64, device="cuda"))
    optimizer.zero_grad()
    logits.square().mean().backward()
    optimizer.step()
    archive["train"].append(logits.detach())
