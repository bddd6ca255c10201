# record: --sim
"""Sums are taken in double precision, of a table that is far larger than the batch."""
import torch


def exact(batch, table):
    wide = table.double()  # HERE
    return batch + wide.sum(dim=0).float()


table = torch.randn(20_000, 512, device="cuda")


model = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 512)).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(8):
    batch = torch.randn(256, 512, device="cuda")
    output = model(exact(batch, table))
    output.mean().backward()
    optimizer.step()
    optimizer.zero_grad()
