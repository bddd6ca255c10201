# record: --sim
"""The output in double precision, for a mean."""
import torch


def precise(output):
    return output.repeat(64, 1).double()  # HERE


model = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 512)).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(8):
    batch = torch.randn(256, 512, device="cuda")
    output = precise(model(batch))
    output.mean().backward()
    optimizer.step()
    optimizer.zero_grad()
