# half: first
# kind: python
# names: window windows
# bytes: 16777216
"""A generator that yields overlapping windows appends to a local list, and forgets to drop the oldest part. Only the
suspended frame of the generator has the list. To change: a deque with maxlen."""
import torch


def windows(parts):
    window = []
    for part in parts:
        window.append(part)
        yield window[-2:]


def random_parts():
    while True:
        yield torch.randn(256, 1024, device="cuda")


model = torch.nn.Linear(1024, 16).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
stream = windows(random_parts())
for step in range(16):
    loss = sum(model(part).square().mean() for part in next(stream))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
