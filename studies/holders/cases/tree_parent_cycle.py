# half: second
# kind: cycle
# names: parent Node
# bytes: 16777216
"""A tree search builds nodes that know parent and children; a search's tree is dropped whole, but only the collector
could free it, and it never runs (gc.freeze() and a high threshold are common advice). To change: weak parents."""
import gc

import torch

gc.collect()
gc.freeze()
gc.set_threshold(1000000, 1000, 1000)


class Node:
    def __init__(self, parent, state):
        self.parent, self.state, self.children = parent, state, []
        if parent is not None:
            parent.children.append(self)


def search(model):
    root = Node(None, torch.randn(128, 1024, device="cuda"))
    child = Node(root, torch.randn(128, 1024, device="cuda"))
    return model(child.state).square().mean()


model = torch.nn.Linear(1024, 16).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(16):
    loss = search(model)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
