# record: --sim
"""An outer product, of which the trace is used."""
import torch


def correlation(output):
    return torch.einsum("bi,bj->bij", output, output)  # HERE


model = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 512)).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(8):
    batch = torch.randn(256, 512, device="cuda")
    output = correlation(model(batch))
    output.mean().backward()
    optimizer.step()
    optimizer.zero_grad()
