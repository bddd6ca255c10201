# half: second
# kind: python
# names: debug
# bytes: 16777216
"""setattr() with a counter leaves one more attribute on a bare namespace at each call, from a debugging session. To
change: one attribute, or none."""
import types

import torch


class Layer(torch.nn.Linear):
    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.debug = types.SimpleNamespace(count=0)

    def forward(self, batch):
        output = super().forward(batch)
        setattr(self.debug, f"call{self.debug.count}", (batch, output.detach()))
        self.debug.count += 1
        return output


def train(model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(16):
        loss = model(torch.randn(256, 64, device="cuda")).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


train(torch.nn.Sequential(Layer(64, 1024), torch.nn.Flatten()).to("cuda"))
