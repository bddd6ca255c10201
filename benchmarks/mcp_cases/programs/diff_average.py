# record: --sim
# runs: before after
"""The change keeps averaged weights."""
import sys

import torch

AFTER = sys.argv[1] == "after"


def averaged(model):
    if AFTER:
        return [weight.detach().repeat(8, 1) for weight in model.parameters()]  # HERE
    return []


model = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 512)).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
average = averaged(model)
for _ in range(8):
    batch = torch.randn(2048, 512, device="cuda")
    output = model(batch)
    output.mean().backward()
    optimizer.step()
    optimizer.zero_grad()
