# half: second
# kind: python
# names: pads
# bytes: 16777216
"""The collate function is an object that keeps a block of padding for each length it saw, on the GPU; only the
DataLoader, inside the epoch's loop, holds it. To change: pad on the CPU."""
import torch


class PadOnDevice:
    def __init__(self):
        self.pads = {}

    def __call__(self, items):
        length = 240 + items[0]
        self.pads.setdefault(length, torch.zeros(length, 1024, device="cuda"))
        return torch.ones(8, 1024, device="cuda"), self.pads[length]


def epoch(model, optimizer, loader):
    for batch, padding in loader:
        optimizer.zero_grad()
        (model(batch).square().mean() + 0 * padding.mean()).backward()
        optimizer.step()


model = torch.nn.Linear(1024, 16).to("cuda")
epoch(model, torch.optim.SGD(model.parameters(), lr=0.1),
      torch.utils.data.DataLoader(range(16), collate_fn=PadOnDevice()))
