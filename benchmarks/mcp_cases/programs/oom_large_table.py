# record: --sim=memory=1GiB
"""A table for a vocabulary that is far too large leaves no room for the batch."""
import torch

table = torch.nn.Embedding(700_000, 256, device="cuda")  # HERE
head = torch.nn.Linear(256, 4096).to("cuda")
for _ in range(4):
    tokens = torch.zeros(64, 512, dtype=torch.long, device="cuda")
    head(table(tokens).detach()).mean().backward()
