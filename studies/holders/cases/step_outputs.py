# half: second
# kind: python
# names: outputs trainer
# bytes: 16777216
"""The trainer collects what each training step returned, predictions included, to the end of the epoch
(torchmetrics#1190, and many reports on training_step of Lightning). To change: return only the loss."""
import torch


class Task(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(64, 1024)

    def training_step(self, batch):
        predictions = self.layer(batch)
        loss = predictions.square().mean()
        return {"loss": loss, "log": [("preds", predictions.detach()), ("size", len(batch))]}


class Trainer:
    def __init__(self, task):
        self.task = task
        self.optimizer = torch.optim.SGD(task.parameters(), lr=0.1)
        self.outputs = []

    def fit(self, steps):
        for _ in range(steps):
            result = self.task.training_step(torch.randn(256, 64, device="cuda"))
            self.optimizer.zero_grad()
            result["loss"].backward()
            self.optimizer.step()
            result["loss"] = result["loss"].item()
            self.outputs.append(result)


trainer = Trainer(Task().to("cuda"))
trainer.fit(16)
