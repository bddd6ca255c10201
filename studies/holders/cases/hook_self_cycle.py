# half: second
# kind: cycle
# names: remember Probe
# bytes: 16777216
"""A module registers, on a layer of its own, a hook that uses self: module, layer, hook and closure are a cycle
(pytorch#46386). One probe is made for each layer and step, the collector is off. To change: weakref.proxy(self)."""
import gc

import torch


class Probe(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.layer = torch.nn.Linear(1024, size, device="cuda")
        self.last = None

        def remember(module, inputs):
            self.last = inputs[0].shape

        self.layer.register_forward_pre_hook(remember)

    def forward(self, batch):
        return self.layer(batch)


def fold(backbone, optimizer):
    probe = Probe(256)
    features = backbone(torch.randn(8, 64, device="cuda"))
    loss = probe(features).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    probe.zero_grad()


gc.disable()
backbone = torch.nn.Linear(64, 1024).to("cuda")
sgd = torch.optim.SGD(backbone.parameters(), lr=0.1)
for _ in range(16):
    fold(backbone, sgd)
