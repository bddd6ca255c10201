# half: fourth
# kind: python
# names: seen callback
# or: seen HistoryCallback
# or: seen callbacks
# bytes: 16777216
"""A callback keeps the state of the trainer after each step, as a dict; dataclasses.asdict() copies all that is in it,
so the last output, of which the trainer has just one, is there once for each step (reports on trainer callbacks and
deep copies). To change: take the numbers out of the state."""
import dataclasses

import torch


@dataclasses.dataclass
class TrainerState:
    step: int = 0
    lr: float = 0.1
    last_output: torch.Tensor = None


class HistoryCallback:
    def __init__(self):
        self.seen = []

    def on_step_end(self, state):
        self.seen.append(dataclasses.asdict(state))


class Trainer:
    def __init__(self, model, callbacks):
        self.model = model
        self.state = TrainerState()
        self.callbacks = callbacks
        self.optimizer = torch.optim.SGD(model.parameters(), lr=self.state.lr)

    def fit(self, steps):
        for step in range(steps):
            output = self.model(torch.randn(256, 64, device="cuda"))
            self.optimizer.zero_grad()
            output.square().mean().backward()
            self.optimizer.step()
            self.state.step, self.state.last_output = step, output.detach()
            for callback in self.callbacks:
                callback.on_step_end(self.state)


trainer = Trainer(torch.nn.Linear(64, 1024).to("cuda"), [HistoryCallback()])
trainer.fit(16)
