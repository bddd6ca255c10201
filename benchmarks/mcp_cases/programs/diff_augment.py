# record: --sim
# runs: before after
"""The change enlarges the batch with flipped copies."""
import sys

import torch

AFTER = sys.argv[1] == "after"


def prepared(batch):
    if AFTER:
        batch = torch.cat([batch, batch.flip(0), batch.flip(1)])  # HERE
    return batch


model = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 512)).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(8):
    batch = torch.randn(2048, 512, device="cuda")
    output = model(prepared(batch)[:2048])
    output.mean().backward()
    optimizer.step()
    optimizer.zero_grad()
