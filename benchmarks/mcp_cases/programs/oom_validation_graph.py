# record: --sim=memory=1GiB --holders
"""Validation sums losses that still have their graphs."""
import torch


def validate():
    total = torch.zeros((), device="cuda")
    for _ in range(200):
        total = total + model(torch.randn(4096, 512, device="cuda")).square().mean()  # HERE
    return total



model = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 512)).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

for _ in range(8):
    model(torch.randn(64, 512, device="cuda")).mean().backward()
    optimizer.step()
    optimizer.zero_grad()
validate()
