# half: first
# kind: python
# names: packed offloader
# or: packed Offloader
# bytes: 16777216
"""Hooks on saved tensors park them in a dict under a number; unpack reads the dict but does not pop (pytorch#115255 is
about such hooks). To change: pop in unpack."""
import torch


class Offloader:
    def __init__(self):
        self.packed = {}

    def pack(self, tensor):
        self.packed[len(self.packed)] = tensor.detach()
        return len(self.packed) - 1

    def unpack(self, number):
        return self.packed[number]


offloader = Offloader()
model = torch.nn.Linear(64, 1024).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(16):
    with torch.autograd.graph.saved_tensors_hooks(offloader.pack, offloader.unpack):
        loss = model(torch.randn(256, 64, device="cuda")).exp().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
