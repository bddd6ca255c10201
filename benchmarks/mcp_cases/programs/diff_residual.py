# record: --sim
# runs: before after
"""The change adds a residual that is copied."""
import sys

import torch

AFTER = sys.argv[1] == "after"


def run(batch):
    output = model(batch)
    if AFTER:
        output = output + batch.repeat(1, 1).clone()  # HERE
    return output


model = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 512)).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(8):
    batch = torch.randn(2048, 512, device="cuda")
    output = run(batch)
    output.mean().backward()
    optimizer.step()
    optimizer.zero_grad()
