# record: --sim
"""Upsampled before the layer that needs little."""
import torch


def enlarged(batch):
    image = batch.view(1, 1, 256, 512)
    return torch.nn.functional.interpolate(image, scale_factor=16)  # HERE


model = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 512)).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(8):
    batch = torch.randn(256, 512, device="cuda")
    output = model(enlarged(batch)[0, 0, :256, :512])
    output.mean().backward()
    optimizer.step()
    optimizer.zero_grad()
