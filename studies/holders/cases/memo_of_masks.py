# half: first
# kind: python
# names: _MASKS
# bytes: 16777216
"""Causal masks are memoized in a global dict, by length and device, and nearly every batch has its own length (reports
on memory that grows with padding). To change: one mask of the greatest length, and slices of it."""
import torch

_MASKS = {}


def causal_mask(length, device):
    key = (length, str(device))
    if key not in _MASKS:
        _MASKS[key] = torch.ones(length, length, device=device).tril()
    return _MASKS[key]


class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.query = torch.nn.Linear(16, 16)

    def forward(self, batch):
        scores = self.query(batch) @ batch.T
        return (scores * causal_mask(len(batch), batch.device)) @ batch


model = Attention().to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(16):
    loss = model(torch.randn(512 - step, 16, device="cuda")).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
