# half: first
# kind: python
# names: versions
# bytes: 16777216
"""Tensors can have attributes: each new estimate remembers the one before in `versions`, a list that travels along.
To change: no history on tensors."""
import torch


def refine(estimate, correction):
    better = estimate + correction
    better.versions = getattr(estimate, "versions", []) + [estimate]
    if hasattr(estimate, "versions"):
        del estimate.versions
    return better


model = torch.nn.Linear(64, 1024).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
estimate = torch.zeros(256, 1024, device="cuda")
for step in range(16):
    correction = model(torch.randn(256, 64, device="cuda"))
    optimizer.zero_grad()
    correction.square().mean().backward()
    optimizer.step()
    estimate = refine(estimate, correction.detach())
