# half: fourth
# kind: python
# names: writer
# bytes: 16777216
"""For runs without a log the writer is a MagicMock, which takes every call; it also remembers every call with its
arguments, for assertions that nobody makes here (questions on mocks that keep their arguments alive). To change: a
class with methods that do nothing, or writer.reset_mock() now and then."""
import unittest.mock

import torch


class Trainer:
    def __init__(self, model, writer=None):
        self.model = model
        self.writer = writer or unittest.mock.MagicMock()
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(self, number, images):
        output = self.model(images)
        self.writer.add_histogram("output", output.detach(), number)
        self.optimizer.zero_grad()
        output.square().mean().backward()
        self.optimizer.step()


trainer = Trainer(torch.nn.Linear(64, 1024).to("cuda"))
for number in range(16):
    trainer.step(number, torch.randn(256, 64, device="cuda"))
trainer.writer.close()
