# record: --sim
"""Noise for every sample of the data at once."""
import torch


def noisy(batch):
    noise = torch.randn(60_000, 512, device="cuda")  # HERE
    return batch + noise[:256]


model = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 512)).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(8):
    batch = torch.randn(256, 512, device="cuda")
    output = model(noisy(batch))
    output.mean().backward()
    optimizer.step()
    optimizer.zero_grad()
