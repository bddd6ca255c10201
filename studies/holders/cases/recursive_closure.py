# half: first
# kind: cycle
# names: visit
# bytes: 16777216
"""A function that calls itself from inside another one is in its own closure: a cycle that also holds the batch
(keras#23110). The collector is off. To change: move `visit` out, and pass the batch."""
import gc

import torch

gc.disable()


def flatten(structure):
    leaves = []

    def visit(node):
        if isinstance(node, dict):
            for child in node.values():
                visit(child)
        else:
            leaves.append(node)

    visit(structure)
    return len(leaves)


model = torch.nn.Linear(1024, 16).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(16):
    batch = {"input": torch.randn(256, 1024, device="cuda"), "weights": {}}
    flatten(batch)
    optimizer.zero_grad()
    model(batch["input"]).square().mean().backward()
    optimizer.step()
