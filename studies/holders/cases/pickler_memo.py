# half: fourth
# kind: c++ python
# names: pickler
# bytes: 16777216
"""Outputs are written to one stream by one Pickler, which remembers all that it has written so that it can refer back
to it; the table of it is inside C code, and has the tensors on the GPU (the notes of pickle on clear_memo()). To
change: pickler.clear_memo() after each dump, or pickle.dump, and CPU tensors."""
import io
import pickle

import torch


class StepLog:
    def __init__(self):
        self.stream = io.BytesIO()
        self.pickler = pickle.Pickler(self.stream)

    def write(self, step, output):
        self.pickler.dump({"step": step, "output": output})
        self.stream.seek(0)
        self.stream.truncate()


def train(model, optimizer, log):
    for step in range(16):
        output = model(torch.randn(256, 64, device="cuda"))
        optimizer.zero_grad()
        output.square().mean().backward()
        optimizer.step()
        log.write(step, output.detach())
        del output


model = torch.nn.Linear(64, 1024).to("cuda")
train(model, torch.optim.SGD(model.parameters(), lr=0.1), StepLog())
