# half: third
# kind: python
# names: stored_metrics trainer
# or: stored_metrics PreferenceTrainer
# bytes: 16777216
"""A trainer for preferences stores the metrics of each batch, by split and name, until it logs their mean; a step of
logging of 500 lets them pile up, and the logits are among them (reports on DPO trainers). To change: store the mean of
the logits, as a float."""
import collections

import torch


class PreferenceTrainer:
    def __init__(self, model, logging_steps):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        self.logging_steps = logging_steps
        self.stored_metrics = collections.defaultdict(lambda: collections.defaultdict(list))

    def store_metrics(self, metrics, split):
        for name, value in metrics.items():
            self.stored_metrics[split][name].append(value)

    def batch_loss(self):
        logits = self.model(torch.randn(256, 64, device="cuda"))
        chosen, rejected = logits.chunk(2)
        loss = -torch.nn.functional.logsigmoid(chosen.mean(1) - rejected.mean(1)).mean()
        self.store_metrics({"loss": loss.detach(), "logits/chosen": chosen.detach()}, split="train")
        return loss

    def train(self, steps):
        for step in range(1, steps + 1):
            loss = self.batch_loss()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            if step % self.logging_steps == 0:
                self.stored_metrics.clear()


trainer = PreferenceTrainer(torch.nn.Linear(64, 1024).to("cuda"), logging_steps=500)
trainer.train(16)
