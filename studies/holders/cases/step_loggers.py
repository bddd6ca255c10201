# half: fifth
# kind: python
# names: features StepFilter
# or: StepFilter getLogger
# bytes: 16777216
"""Each step has a logger of its own name, with a filter that adds the shape of its features to what is logged; the
logging module keeps loggers by name for ever, with their filters (the notes of logging warn of loggers for each
connection). To change: one logger, and pass the shape in `extra`."""
import logging

import torch


class StepFilter(logging.Filter):
    def __init__(self, features):
        super().__init__()
        self.features = features

    def filter(self, record):
        record.shape = tuple(self.features.shape)
        return True


def train_step(step, model, optimizer):
    features = model(torch.randn(256, 64, device="cuda"))
    log = logging.getLogger(f"training.step{step}")
    log.addFilter(StepFilter(features.detach()))
    optimizer.zero_grad()
    features.square().mean().backward()
    optimizer.step()
    log.info("done")


model = torch.nn.Linear(64, 1024).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(16):
    train_step(step, model, optimizer)
