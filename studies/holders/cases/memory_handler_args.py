# half: third
# kind: python
# names: MemoryHandler
# or: logger
# or: details
# bytes: 16777216
"""Debug messages go to a MemoryHandler, to be written only if an error comes; a record of logging keeps its arguments
until it is formatted, and these are tensors. No error comes. To change: format what is logged at once, or log
shapes."""
import logging
import logging.handlers

import torch


def open_log():
    details = logging.handlers.MemoryHandler(10000, flushLevel=logging.ERROR, target=logging.NullHandler())
    logger = logging.getLogger("net")
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    logger.addHandler(details)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(64, 1024)

    def forward(self, images):
        features = self.layer(images)
        logging.getLogger("net").debug("features are %s", features.detach())
        return features


open_log()
model = Net().to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(16):
    optimizer.zero_grad()
    model(torch.randn(256, 64, device="cuda")).square().mean().backward()
    optimizer.step()
