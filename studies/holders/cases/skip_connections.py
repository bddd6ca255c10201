# half: seventh
# kind: python
# names: skips model
# or: skips UNet
# bytes: 25165824
"""A U-Net puts the outputs of its way down into a list, and the way up takes them from the end by number instead of
with pop(); the list belongs to the module, so those of all steps stay in it (questions on U-Nets written from scratch).
To change: a local list in forward(), or self.skips.pop()."""
import time

import torch


class UNet(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.down = torch.nn.ModuleList([torch.nn.Linear(64, 512), torch.nn.Linear(512, 512)])
        self.up = torch.nn.ModuleList([torch.nn.Linear(512, 512), torch.nn.Linear(512, 64)])
        self.skips = []

    def forward(self, images):
        for layer in self.down:
            images = layer(images)
            self.skips.append(images)
        for depth, layer in enumerate(self.up, start=1):
            images = layer(images + self.skips[-depth])
        return images


def train(model, optimizer):
    for _ in range(24):
        optimizer.zero_grad()
        model(torch.randn(256, 64, device="cuda")).square().mean().backward()
        optimizer.step()
        time.sleep(0.03)  # stands for the time of the kernels


model = UNet().to("cuda")
train(model, torch.optim.SGD(model.parameters(), lr=0.1))
