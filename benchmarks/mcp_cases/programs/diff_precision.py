# record: --sim
# runs: before after
"""The change computes the loss in double precision."""
import sys

import torch

AFTER = sys.argv[1] == "after"


def widened(output):
    if AFTER:
        output = output.double()  # HERE
    return output.square()


model = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 512)).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(8):
    batch = torch.randn(2048, 512, device="cuda")
    output = widened(model(batch))
    output.mean().backward()
    optimizer.step()
    optimizer.zero_grad()
