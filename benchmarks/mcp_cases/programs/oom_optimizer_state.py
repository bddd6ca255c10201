# record: --sim=memory=1GiB
"""The weights and gradients fit; Adam's two moments, made in the first step, do not."""
import torch


def update(optimizer):
    optimizer.step()  # HERE


model = torch.nn.Sequential(*[torch.nn.Linear(2048, 2048) for _ in range(17)]).to("cuda")
optimizer = torch.optim.Adam(model.parameters())
for _ in range(3):
    model(torch.randn(16, 2048, device="cuda")).mean().backward()
    update(optimizer)
    optimizer.zero_grad()
