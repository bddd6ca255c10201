# half: first
# kind: python
# names: batches Stage
# or: batches TRAIN
# bytes: 16777216
"""Members of an enum carry a list each, which is as good as a global: nothing ever empties Stage.TRAIN.batches. To
change: state does not belong into an enum."""
import enum

import torch


class Stage(enum.Enum):
    TRAIN = "train"
    VALID = "valid"

    def __init__(self, title):
        self.title = title
        self.batches = []


def run(stage, model, optimizer):
    batch = torch.randn(256, 1024, device="cuda")
    stage.batches.append(batch)
    loss = model(batch).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def main():
    model = torch.nn.Linear(1024, 16).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(16):
        run(Stage("train"), model, optimizer)


main()
