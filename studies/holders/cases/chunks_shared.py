# half: first
# kind: python
# names: left_halves
# or: right_halves
# bytes: 16777216
"""chunk() cuts a batch in two tensors with one storage; the left halves are kept in one list and the right in another,
so dropping one list frees nothing. To change: both, or clone()."""
import torch

model = torch.nn.Linear(512, 16).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
left_halves, right_halves = [], []
for step in range(16):
    left, right = torch.randn(256, 1024, device="cuda").chunk(2, dim=1)
    loss = (model(left) - model(right)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    left_halves.append(left)
    right_halves.append(right)
