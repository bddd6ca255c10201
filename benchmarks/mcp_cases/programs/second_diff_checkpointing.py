# record: --sim
# runs: before after
"""The change takes the checkpointing of activations away."""
import sys

import torch
import torch.utils.checkpoint

AFTER = sys.argv[1] == "after"


def run(batch):
    if AFTER:
        return blocks(batch)  # HERE
    return torch.utils.checkpoint.checkpoint(blocks, batch, use_reentrant=False)


blocks = torch.nn.Sequential(*[torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.Tanh()) for _ in range(12)]).to("cuda")


model = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 512)).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(8):
    batch = torch.randn(256, 512, device="cuda")
    output = model(run(batch.repeat(16, 1)))
    output.mean().backward()
    optimizer.step()
    optimizer.zero_grad()
