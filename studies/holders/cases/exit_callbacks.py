# half: second
# kind: python c++
# names: save
# or: atexit
# bytes: 16777216
"""Each step registers with atexit that its sample be saved at exit; the interpreter keeps callbacks and arguments in a
table that is no Python object. Found in notebooks that re-run a cell. To change: register once, keep the last."""
import atexit

import torch


def save(sample, path):
    return path, sample.shape


model = torch.nn.Linear(64, 1024).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(16):
    sample = model(torch.randn(256, 64, device="cuda"))
    optimizer.zero_grad()
    sample.square().mean().backward()
    optimizer.step()
    atexit.register(save, sample.detach(), f"sample{step}.pt")
