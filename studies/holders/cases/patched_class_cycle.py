# half: third
# kind: cycle
# names: start_weights PatchedNet
# or: PatchedNet
# bytes: 16777216
"""A functional copy of a network is an instance of a class that is made for it; a class is always in a cycle with
itself, and has the weights it starts from as an attribute (higher#15). The collector is off. To change: put the weights
into the instance."""
import gc

import torch

gc.disable()


def functional_copy(net):
    class PatchedNet:
        start_weights = net.weight.detach().clone()

        def __init__(self):
            self.scale = 1.0

        def __call__(self, images):
            return torch.nn.functional.linear(images, self.start_weights + self.scale * net.weight)

    return PatchedNet()


def adapt(net, optimizer):
    loss = functional_copy(net)(torch.randn(16, 256, device="cuda")).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


net = torch.nn.Linear(256, 1024, bias=False).to("cuda")
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for task in range(16):
    adapt(net, optimizer)
