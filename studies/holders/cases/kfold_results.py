# half: third
# kind: python
# names: trainer results
# or: trainer FoldResult
# bytes: 16777216
"""Leave-one-out validation keeps a result for each fold, and the result its trainer, "to look at it later": model,
gradients and moments of all folds (pytorch-lightning#8430, stable-baselines3#1966). To change: keep the score."""
import dataclasses
from typing import Any

import torch


class Trainer:
    def __init__(self):
        self.model = torch.nn.Linear(256, 256).to("cuda")
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=0.01)

    def fit(self):
        self.model(torch.randn(16, 256, device="cuda")).square().mean().backward()
        self.optimizer.step()
        return 0.5


@dataclasses.dataclass
class FoldResult:
    score: float
    trainer: Any


def cross_validate(results, folds):
    for fold in range(folds):
        trainer = Trainer()
        results.append(FoldResult(trainer.fit(), trainer))


results = []
cross_validate(results, folds=16)
