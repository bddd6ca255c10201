# half: sixth
# kind: python
# names: features make_record
# or: previous make_record
# or: setLogRecordFactory
# bytes: 16777216
"""Each step wants its shape in all that is logged, and sets a factory of log records that calls the one before and adds
it; so a factory has all earlier factories behind it, each with the features of its step, and just the logging module
has the last one (Stack Overflow on context in log records). To change: set one factory, that reads a variable."""
import logging

import torch

log = logging.getLogger("train")


def add_to_records(features):
    previous = logging.getLogRecordFactory()

    def make_record(*values, **options):
        record = previous(*values, **options)
        record.shape = tuple(features.shape)
        return record

    logging.setLogRecordFactory(make_record)


def train_step(model, optimizer):
    output = model(torch.randn(256, 64, device="cuda"))
    add_to_records(output.detach())
    optimizer.zero_grad()
    output.square().mean().backward()
    optimizer.step()
    log.info("a step is done")


def main():
    logging.basicConfig(filename="/dev/null", level=logging.INFO, format="%(shape)s %(message)s")
    model = torch.nn.Linear(64, 1024).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(16):
        train_step(model, optimizer)


main()
