# record: --sim
# runs: before after
"""The change caches masks for all lengths in advance."""
import sys

import torch

AFTER = sys.argv[1] == "after"


def masks():
    found = []
    if AFTER:
        for length in range(64, 2048, 64):
            found.append(torch.ones(length, length, device="cuda"))  # HERE
    return found


model = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 512)).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
ready = masks()
for _ in range(8):
    batch = torch.randn(2048, 512, device="cuda")
    output = model(batch)
    output.mean().backward()
    optimizer.step()
    optimizer.zero_grad()
