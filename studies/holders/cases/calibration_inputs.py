# half: sixth
# kind: python
# names: inputs Catcher
# or: inputs catcher
# or: inputs model
# or: inputs cache
# bytes: 16777216
"""To quantize a model, a catcher takes the place of its first block, stores what the block would get and leaves by an
exception; the calibration is done in rounds, while the head trains on, and nobody empties the cache of the catcher
(GPTQModel#2805 and reports on calibration that fills the GPU). To change: store on the CPU, or clear the cache after
each round."""
import torch


class Caught(Exception):
    pass


class Catcher(torch.nn.Module):
    def __init__(self, block):
        super().__init__()
        self.block = block
        self.cache = {"inputs": [], "options": {}}
        self.catching = False

    def forward(self, hidden, **options):
        if not self.catching:
            return self.block(hidden, **options)
        self.cache["inputs"].append(hidden.detach())
        self.cache["options"].update(options)
        raise Caught


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Linear(64, 1024)
        self.blocks = torch.nn.ModuleList([torch.nn.Linear(1024, 16)])

    def forward(self, batch):
        hidden = self.embed(batch)
        for block in self.blocks:
            hidden = block(hidden)
        return hidden


def calibrate(model, batch):
    catcher = model.blocks[0]
    catcher.catching = True
    try:
        model(batch)
    except Caught:
        pass
    finally:
        catcher.catching = False


model = Model().to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model.blocks[0] = Catcher(model.blocks[0])
for step in range(16):
    calibrate(model, torch.randn(256, 64, device="cuda"))
    optimizer.zero_grad()
    model(torch.randn(16, 64, device="cuda")).square().mean().backward()
    optimizer.step()
