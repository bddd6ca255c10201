# half: fourth
# kind: autograd python
# names: states trainer
# or: states TruncatedTrainer
# bytes: 16777216
"""Truncated backpropagation through time keeps a pair of states for each step, as in a recipe of the forum, retains the
graphs, and drops pairs that are older than a window; the window is longer than any sequence. To change: a window of 20
steps."""
import torch


class Cell(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(32, 1024)
        self.outer = torch.nn.Linear(1024, 16)

    def forward(self, batch, state):
        return self.outer(torch.tanh(self.inner(torch.cat([batch, state], dim=1))))


class TruncatedTrainer:
    def __init__(self, cell, window):
        self.cell = cell
        self.window = window
        self.states = [(None, torch.zeros(256, 16, device="cuda"))]
        self.optimizer = torch.optim.SGD(cell.parameters(), lr=0.1)

    def step(self, batch):
        before = self.states[-1][1].detach().requires_grad_()
        after = self.cell(batch, before)
        self.states.append((before, after))
        while len(self.states) > self.window:
            del self.states[0]
        after.square().mean().backward(retain_graph=True)
        self.optimizer.step()
        self.optimizer.zero_grad()


trainer = TruncatedTrainer(Cell().to("cuda"), window=10_000)
for step in range(16):
    trainer.step(torch.randn(256, 16, device="cuda"))
