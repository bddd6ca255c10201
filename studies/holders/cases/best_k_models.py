# half: third
# kind: autograd
# names: best_k_models
# bytes: 16777216
"""A callback for checkpoints has the paths of the best models with their scores; a score is the loss of validation as
the module gave it, with its graph (pytorch-lightning#4556 is about logged values on the GPU). To change: current.item()
in the callback, or no_grad() in validation."""
import torch


class KeepBest:
    def __init__(self, keep):
        self.keep = keep
        self.best_k_models = {}

    def on_validation_end(self, trainer, current):
        self.best_k_models[f"model-{trainer.step}.pt"] = current
        if len(self.best_k_models) > self.keep:
            self.best_k_models.pop(next(iter(self.best_k_models)))


class Trainer:
    def __init__(self, callbacks):
        self.callbacks = callbacks
        self.step = 0

    def validate(self, model):
        return model(torch.randn(256, 64, device="cuda")).square().mean()

    def fit(self, model, optimizer, steps):
        for self.step in range(steps):
            optimizer.zero_grad()
            model(torch.randn(16, 64, device="cuda")).square().mean().backward()
            optimizer.step()
            for callback in self.callbacks:
                callback.on_validation_end(self, self.validate(model))


model = torch.nn.Sequential(torch.nn.Linear(64, 1024), torch.nn.Sigmoid(), torch.nn.Linear(1024, 8)).to("cuda")
trainer = Trainer([KeepBest(keep=100)])
trainer.fit(model, torch.optim.SGD(model.parameters(), lr=0.1), steps=16)
