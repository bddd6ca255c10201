# half: second
# kind: python
# names: previous smooth
# bytes: 16777216
"""A list as the default value of an argument lives as long as the function, and grows with every call that leaves the
argument out. A classic trap of Python. To change: None as the default."""
import torch


def smooth(values, previous=[], *, weight=0.5):
    previous.append(values)
    return values * weight


def train(steps):
    model = torch.nn.Linear(64, 1024).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        output = model(torch.randn(256, 64, device="cuda"))
        shown = smooth(output.detach())
        optimizer.zero_grad()
        output.square().mean().backward()
        optimizer.step()
        del shown


train(16)
