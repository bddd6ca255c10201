# record: --sim
"""A cache by length, and no length comes twice."""
import torch


def positions(length):
    if length not in cache:
        cache[length] = torch.arange(length * 64, device="cuda")  # HERE
    return cache[length]



model = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 512)).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

cache = {}
for step in range(24):
    positions(4096 + step)
    model(torch.randn(64, 512, device="cuda")).mean().backward()
    optimizer.step()
    optimizer.zero_grad()
