# half: sixth
# kind: python
# names: user_attrs study
# or: user_attrs FrozenTrial
# or: user_attrs storage
# bytes: 16777216
"""A search for hyperparameters lets a trial note what the user likes; the trial of the user goes, but what was noted is
copied to a frozen trial in the storage of the study, and one likes to have the predictions of the best trial at the end
(optuna#1178 and questions on how to save the best model of a study). To change: note the name of a file."""
import dataclasses

import torch


@dataclasses.dataclass(frozen=True)
class FrozenTrial:
    number: int
    params: dict
    user_attrs: dict = dataclasses.field(default_factory=dict)


class MemoryStorage:
    def __init__(self):
        self.trials = {}

    def create(self, params):
        self.trials[len(self.trials)] = FrozenTrial(len(self.trials), params)
        return len(self.trials) - 1


class Trial:
    def __init__(self, storage, params):
        self.storage, self.params = storage, params
        self.number = storage.create(params)

    def set_user_attr(self, name, value):
        self.storage.trials[self.number].user_attrs[name] = value


class Study:
    def __init__(self):
        self.storage = MemoryStorage()

    def optimize(self, objective, trials):
        for number in range(trials):
            objective(Trial(self.storage, {"rate": 0.1 / (number + 1)}))


def objective(trial):
    model = torch.nn.Linear(64, 1024).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=trial.params["rate"])
    predictions = model(torch.randn(256, 64, device="cuda"))
    predictions.square().mean().backward()
    optimizer.step()
    trial.set_user_attr("predictions", predictions.detach())


study = Study()
study.optimize(objective, trials=16)
