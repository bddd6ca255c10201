# half: third
# kind: python
# names: summarize
# or: template define_record
# bytes: 16777216
"""Each step makes a type for its records and registers with a generic function how to summarize them; the registry of
functools.singledispatch has the type as key for good, and the handler a closure with the template of the step. To
change: one type of record, with its template as a field."""
import dataclasses
import functools

import torch


@functools.singledispatch
def summarize(record):
    return f"an unknown {type(record).__name__}"


def define_record(step, template):
    record_type = dataclasses.make_dataclass(f"Record{step}", ["loss"])

    @summarize.register(record_type)
    def summarize_record(record):
        return f"{record_type.__name__} of {tuple(template.shape)}"

    return record_type


def train_step(step, model, optimizer):
    output = model(torch.randn(256, 64, device="cuda"))
    record_type = define_record(step, output.detach())
    loss = output.square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return summarize(record_type(loss.detach()))


model = torch.nn.Linear(64, 1024).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(16):
    train_step(step, model, optimizer)
