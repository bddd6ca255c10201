# half: second
# kind: python
# names: epochs run
# or: records run
# bytes: 16777216
"""A log of the run is dataclasses in lists in dataclasses, and the innermost has the logits beside the loss. To change:
take `logits` out of the record."""
import dataclasses

import torch


@dataclasses.dataclass
class Record:
    step: int
    loss: float
    logits: torch.Tensor


@dataclasses.dataclass
class Epoch:
    records: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass(slots=True)
class Run:
    name: str
    epochs: list = dataclasses.field(default_factory=list)


run = Run("baseline")
model = torch.nn.Linear(64, 1024).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(4):
    run.epochs.append(Epoch())
    for step in range(4):
        logits = model(torch.randn(256, 64, device="cuda"))
        loss = logits.square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        run.epochs[-1].records.append(Record(step, loss.item(), logits.detach()))
