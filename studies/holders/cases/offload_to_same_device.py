# half: fifth
# kind: python
# names: offloaded cache
# or: offloaded ActivationCache
# bytes: 16777216
"""Activations are offloaded once and found by a dictionary with weak keys; but the device to offload to is the GPU
itself, so to() returns the tensor as it is, and the value of the entry is its own key (llm-compressor#2387). To change:
store nothing if the copy is the same object."""
import torch
from torch.utils.weak import WeakIdKeyDictionary


class ActivationCache:
    def __init__(self, device):
        self.device = device
        self.offloaded = WeakIdKeyDictionary()

    def offload(self, activation):
        if activation not in self.offloaded:
            self.offloaded[activation] = activation.to(self.device)
        return self.offloaded[activation]


cache = ActivationCache("cuda")
model = torch.nn.Linear(64, 1024).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(16):
    output = model(torch.randn(256, 64, device="cuda"))
    optimizer.zero_grad()
    output.square().mean().backward()
    optimizer.step()
    kept = cache.offload(output.detach())
    kept = output = None
