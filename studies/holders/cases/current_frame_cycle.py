# half: fourth
# kind: cycle
# names: frame train_step
# bytes: 16777216
"""A step asks for its own frame, to log where it is, and keeps it in a local variable: the frame has the variable, and
the variable the frame, with all else that the step had (the notes of the inspect module warn of it). The collector was
switched off. To change: del frame, or ask in a function that returns the line."""
import gc
import inspect

import torch


class Log:
    def __init__(self):
        self.lines = []

    def write(self, name, line):
        self.lines.append(f"{name}:{line}")


def train_step(model, optimizer, log):
    frame = inspect.currentframe()
    output = model(torch.randn(256, 64, device="cuda"))
    log.write(frame.f_code.co_name, frame.f_lineno)
    optimizer.zero_grad()
    output.square().mean().backward()
    log.write(frame.f_code.co_name, frame.f_lineno)
    optimizer.step()


gc.disable()
log = Log()
model = torch.nn.Linear(64, 1024).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(16):
    train_step(model, optimizer, log)
