# record: --sim
# runs: before after
"""The change gives each image eight views."""
import sys

import torch

AFTER = sys.argv[1] == "after"


def views(batch):
    if AFTER:
        batch = batch.repeat(8, 1) + 0.1 * torch.randn(8 * len(batch), 512, device="cuda")  # HERE
    return batch


model = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 512)).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(8):
    batch = torch.randn(256, 512, device="cuda")
    output = model(views(batch))[:256]
    output.mean().backward()
    optimizer.step()
    optimizer.zero_grad()
