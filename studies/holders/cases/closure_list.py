# half: first
# kind: python
# names: lines make_logger
# or: lines log
# bytes: 16777216
"""A logger made by a function keeps what it was given in a variable of that function, which only the closure sees.
Common in notebooks. To change: keep numbers in `lines`, not tensors."""
import torch


def make_logger(prefix):
    lines = []

    def log(step, value):
        lines.append((prefix, step, value))
        return len(lines)

    return log


model = torch.nn.Linear(64, 1024).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
log = make_logger("train")
for step in range(16):
    output = model(torch.randn(256, 64, device="cuda"))
    optimizer.zero_grad()
    output.square().mean().backward()
    optimizer.step()
    log(step, output.detach())
