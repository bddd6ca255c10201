# half: second
# kind: python
# names: statistics_of
# bytes: 16777216
"""functools.cache on a function of a tensor: tensors hash by identity, so each call is a miss, and the cache keeps the
argument as its key (pytorch#112301). The results are tiny. To change: no cache here."""
import functools

import torch


@functools.cache
def statistics_of(batch):
    return tuple(batch.shape), batch.mean().item()


class Normalized(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(1024, 16)

    def forward(self, batch):
        shape, mean = statistics_of(batch)
        return self.layer(batch - mean)


model = Normalized().to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(16):
    loss = model(torch.randn(256, 1024, device="cuda")).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
