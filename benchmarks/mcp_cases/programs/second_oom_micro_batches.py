# record: --sim=memory=1GiB --holders
"""The gradients of each micro batch are kept and added at the end, rather than added as they come."""
import torch


def accumulate(model, batches):
    parts = []
    for batch in batches:
        model(batch).square().mean().backward()
        parts.append([weight.grad.clone() for weight in model.parameters()])  # HERE
        model.zero_grad()
    return [sum(each) for each in zip(*parts)]


model = torch.nn.Sequential(torch.nn.Linear(1024, 1024), torch.nn.Tanh(), torch.nn.Linear(1024, 1024)).to("cuda")
for number in (2, 4, 400):
    accumulate(model, (torch.randn(16, 1024, device="cuda") for _ in range(number)))
