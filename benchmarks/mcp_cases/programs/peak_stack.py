# record: --sim
"""Copies where a view would do."""
import torch


def views(batch):
    return torch.stack([batch] * 128)  # HERE


model = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 512)).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(8):
    batch = torch.randn(256, 512, device="cuda")
    output = model(views(batch)[0])
    output.mean().backward()
    optimizer.step()
    optimizer.zero_grad()
