# half: fourth
# kind: python
# names: caught
# bytes: 16777216
"""Warnings of a whole training are recorded, to print them once at the end; a warning can name its source, the object
that it is about, and the record keeps it (the `source` of warnings.warn, as in reports on catch_warnings(record=True)).
To change: record warnings for one step, or keep str(warning.message)."""
import warnings

import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(64, 1024)

    def forward(self, images):
        output = self.layer(images)
        if output.dtype == torch.float32:
            warnings.warn("full precision is slow here", RuntimeWarning, source=output.detach())
        return output


def train(model, optimizer):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", RuntimeWarning)
        for _ in range(16):
            optimizer.zero_grad()
            model(torch.randn(256, 64, device="cuda")).square().mean().backward()
            optimizer.step()
    print(len(caught), "warnings")


model = Net().to("cuda")
train(model, torch.optim.SGD(model.parameters(), lr=0.1))
