# half: second
# kind: python
# names: traces profiler
# or: traces Profiler
# bytes: 16777216
"""A program of a file and a package: importing the package makes a profiler, and the model's hook fills it from there;
main.py knows neither. To change: Profiler.keep = False."""
import torch
from plugins import watched

model = watched(torch.nn.Linear(64, 1024).to("cuda"))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(16):
    loss = model(torch.randn(256, 64, device="cuda")).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
