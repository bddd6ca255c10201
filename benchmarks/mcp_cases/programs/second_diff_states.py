# record: --sim
# runs: before after
"""The change keeps the output of every layer, for a probe that reads them."""
import sys

import torch

AFTER = sys.argv[1] == "after"


def run(batch, number=12):
    states = [batch]
    for layer in layers[:number]:
        if AFTER:
            states.append(layer(states[-1]))  # HERE
        else:
            states = [layer(states[0])]
    return states[-1].detach()


layers = [torch.nn.Linear(512, 512, device="cuda").requires_grad_(False) for _ in range(12)]


model = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 512)).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(8):
    batch = torch.randn(256, 512, device="cuda")
    output = model(run(batch.repeat(16, 1))[:256])
    output.mean().backward()
    optimizer.step()
    optimizer.zero_grad()
