# record: --sim
"""All distances between all points, of which the nearest are used."""
import torch


def spread(output):
    points = torch.randn(8192, 16, device="cuda")
    apart = torch.cdist(points, points)  # HERE
    return output * apart[0, 1]


model = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 512)).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(8):
    batch = torch.randn(256, 512, device="cuda")
    output = spread(model(batch))
    output.mean().backward()
    optimizer.step()
    optimizer.zero_grad()
