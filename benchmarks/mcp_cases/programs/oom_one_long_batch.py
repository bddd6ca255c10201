# record: --sim=memory=1GiB
"""One batch of the data is far longer than all others; its first layer takes what there is."""
import torch


def forward(batch):
    wide = up(batch)  # HERE
    return down(wide.relu())


up = torch.nn.Linear(256, 4096).to("cuda")
down = torch.nn.Linear(4096, 256).to("cuda")
for length in [128] * 12 + [40_000] + [128] * 4:
    forward(torch.randn(length, 256, device="cuda")).mean().backward()
