# half: first
# kind: python
# names: mask weight
# or: mask prune
# bytes: 16777216
"""A mask for the gradient is put on the weight by a tensor hook anew in each step; hooks of a tensor add up, and each
keeps its mask. To change: register one hook, or remove the handle."""
import torch

model = torch.nn.Linear(1024, 256).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def prune(weight):
    mask = torch.ones_like(weight)
    weight.register_hook(lambda gradient: gradient * mask)


for step in range(16):
    prune(model.weight)
    loss = model(torch.randn(16, 1024, device="cuda")).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
