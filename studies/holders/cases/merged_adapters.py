# half: second
# kind: python
# names: originals merger
# or: originals Merger
# bytes: 16777216
"""To undo the merge of an adapter, each merge saves the weight that it replaced, on a stack; unmerge is never called
(questions on merging LoRA that runs out of memory). To change: subtract the adapter instead."""
import torch


class Merger:
    def __init__(self, layer):
        self.layer = layer
        self.originals = []

    def merge(self, update):
        self.originals.append(self.layer.weight)
        self.layer.weight = torch.nn.Parameter(self.layer.weight.detach() + update)


layer = torch.nn.Linear(1024, 256).to("cuda")
merger = Merger(layer)
for step in range(16):
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    loss = layer(torch.randn(8, 1024, device="cuda")).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    merger.merge(torch.zeros(256, 1024, device="cuda"))
