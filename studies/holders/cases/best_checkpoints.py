# half: second
# kind: python
# names: checkpoints stopper
# or: checkpoints EarlyStopping
# bytes: 16777216
"""Early stopping keeps a copy of the state dict whenever the score "improved" (it is a rank, so always here), all of
them and on the GPU (questions on early stopping). To change: keep one, on the CPU."""
import collections
import copy

import torch

Checkpoint = collections.namedtuple("Checkpoint", ["score", "weights"])


class EarlyStopping:
    def __init__(self):
        self.checkpoints = []

    def __call__(self, score, model):
        weights = copy.deepcopy(model.state_dict())
        self.checkpoints.append(Checkpoint(score, weights))
        self.checkpoints.sort(key=lambda checkpoint: checkpoint.score)


stopper = EarlyStopping()
model = torch.nn.Sequential(torch.nn.Linear(1024, 256), torch.nn.ReLU()).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(16):
    loss = model(torch.randn(8, 1024, device="cuda")).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    stopper(1 / (1 + epoch), model)
