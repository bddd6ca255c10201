"""A seeded leak: losses are summed as tensors with their graphs, not as numbers (the mistake behind PyTorch's issue
17568); every step keeps the graph of its forward pass."""
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(64, 256), nn.Tanh(), nn.Linear(256, 1)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
running_loss = 0
before = []
for step in range(24):
    inputs = torch.randn(128, 64, device="cuda")
    loss = model(inputs).pow(2).mean()
    with torch.no_grad():
        pass
    penalty = model(inputs).abs().mean()
    running_loss = running_loss + penalty  # the leak: penalty.item() would not keep the graph
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    before.append(torch.cuda.memory_allocated())
growth = [after - earlier for earlier, after in zip(before[4:], before[5:])]
assert min(growth) > 0 and max(growth) == min(growth), growth
print("grows by", growth[0], "bytes a step")
