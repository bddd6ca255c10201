# record: --sim
"""A mask of all pairs, of which a row is used."""
import torch


def masked(output):
    allowed = torch.ones(8192, 8192, device="cuda")  # HERE
    return output * allowed[0, :512]


model = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 512)).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(8):
    batch = torch.randn(256, 512, device="cuda")
    output = masked(model(batch))
    output.mean().backward()
    optimizer.step()
    optimizer.zero_grad()
