# half: seventh
# kind: python
# names: log_history trainer
# or: log_history state
# or: log_history TrainerState
# bytes: 25165824
"""A trainer keeps all that was ever logged, so that it can be saved with the model; a subclass logs a histogram of the
logits for one kind of writer, and gives the logits themselves with the other numbers (questions on log_history of the
Trainer of Transformers). To change: call the writer directly, or log floats only."""
import time
from dataclasses import dataclass, field

import torch


@dataclass
class TrainerState:
    global_step: int = 0
    log_history: list = field(default_factory=list)


class Trainer:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        self.state = TrainerState()

    def log(self, logs):
        self.state.log_history.append({**logs, "step": self.state.global_step})

    def compute_loss(self, inputs):
        return self.model(inputs).square().mean()

    def train(self, batches):
        for inputs in batches:
            self.optimizer.zero_grad()
            loss = self.compute_loss(inputs)
            loss.backward()
            self.optimizer.step()
            self.log({"loss": loss.item()})
            self.state.global_step += 1
            time.sleep(0.03)  # stands for the time of the kernels


class HistogramTrainer(Trainer):
    def compute_loss(self, inputs):
        logits = self.model(inputs)
        self.log({"logits": logits.detach()})
        return logits.square().mean()


trainer = HistogramTrainer(torch.nn.Linear(64, 1024).to("cuda"))
trainer.train(torch.randn(256, 64, device="cuda") for _ in range(24))
