# record: --sim
"""Losses are kept with their graphs; recorded without holders, so only the allocating line can be known."""
import torch


model = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 512)).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

losses = []
for _ in range(24):
    hidden = model(torch.randn(2048, 512, device="cuda"))  # HERE
    loss = hidden.mean()
    losses.append(loss)
    optimizer.zero_grad()
