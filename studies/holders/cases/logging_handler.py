# half: second
# kind: python
# names: recent
# bytes: 16777216
"""A handler of logging keeps records for a status page, with exc_info: the tracebacks hold the frames that failed and
what was in them. To change: let the handler format the record and keep the text."""
import logging

import torch


class StatusPage(logging.Handler):
    def __init__(self):
        super().__init__()
        self.recent = []

    def emit(self, record):
        self.recent.append(record)


logger = logging.getLogger("training")
logger.propagate = False
logger.addHandler(StatusPage())
model = torch.nn.Linear(64, 1024).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def train_step():
    features = model(torch.randn(256, 64, device="cuda"))
    optimizer.zero_grad()
    features.square().mean().backward()
    optimizer.step()
    statistics = {"features": features.detach()}
    return statistics["accuracy"]


for step in range(16):
    try:
        train_step()
    except KeyError:
        logger.exception("no accuracy in step %d", step)
