# half: third
# kind: python
# names: computed rounds
# or: computed SamplewiseScore
# bytes: 16777216
"""A metric remembers what compute() gave until the next update; there is one metric for each round of validation, and
none of them is updated or reset again (torchmetrics#1738, torchmetrics#1949). To change: reset() after a round."""
import torch


class SamplewiseScore:
    def __init__(self):
        self.total = None
        self.computed = None

    def update(self, scores):
        self.total = scores.sum(dim=1, keepdim=True)
        self.computed = None

    def compute(self, weights):
        if self.computed is None:
            self.computed = self.total * weights
        return self.computed


class Evaluator:
    def __init__(self):
        self.rounds = {}

    def validate(self, model, number):
        score = self.rounds[f"round-{number}"] = SamplewiseScore()
        with torch.no_grad():
            score.update(model(torch.randn(256, 64, device="cuda")))
            return score.compute(torch.ones(1024, device="cuda")).mean()


def fit(model, optimizer, evaluator):
    for step in range(16):
        optimizer.zero_grad()
        model(torch.randn(32, 64, device="cuda")).square().mean().backward()
        optimizer.step()
        evaluator.validate(model, step)


evaluator = Evaluator()
model = torch.nn.Linear(64, 32).to("cuda")
fit(model, torch.optim.SGD(model.parameters(), lr=0.1), evaluator)
