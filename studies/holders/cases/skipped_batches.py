# half: fourth
# kind: python
# names: skipped
# or: batch LabelError
# bytes: 16777216
"""Batches whose labels do not fit are skipped, and the errors are kept for a report, without their tracebacks since
these are known to keep frames; but the error itself has the batch as an attribute (questions on exceptions with data in
them). To change: put the number of the batch into the error."""
import itertools

import torch


class LabelError(ValueError):
    def __init__(self, batch, labels):
        super().__init__(f"{len(batch)} images, {len(labels)} labels")
        self.batch = batch


def check(batch, labels):
    if len(batch) != len(labels):
        raise LabelError(batch, labels)


def load_epoch(number_of_labels):
    for number in number_of_labels:
        yield torch.randn(256, 1024, device="cuda"), torch.zeros(number, dtype=torch.long, device="cuda")


def train(model, optimizer, epochs):
    skipped = []
    for batch, labels in itertools.chain.from_iterable(load_epoch([256, 255]) for _ in range(epochs)):
        try:
            check(batch, labels)
        except LabelError as error:
            skipped.append(error.with_traceback(None))
            continue
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(batch), labels).backward()
        optimizer.step()
    return [str(error) for error in skipped]


model = torch.nn.Linear(1024, 8).to("cuda")
train(model, torch.optim.SGD(model.parameters(), lr=0.1), epochs=16)
