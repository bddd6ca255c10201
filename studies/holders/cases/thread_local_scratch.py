# half: first
# kind: python
# names: buffers scratch
# bytes: 16777216
"""Scratch buffers are in a threading.local, by shape, and each length of a sequence is a new shape. To change: one
buffer of the greatest length, and slices of it."""
import threading

import torch

scratch = threading.local()


def scratch_for(length):
    if not hasattr(scratch, "buffers"):
        scratch.buffers = {}
    if length not in scratch.buffers:
        scratch.buffers[length] = torch.zeros(length, 1024, device="cuda")
    return scratch.buffers[length]


model = torch.nn.Linear(1024, 16).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for length in range(250, 266):
    loss = model(scratch_for(length)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
