# half: first
# kind: cycle
# names: problem check
# bytes: 16777216
"""A local variable keeps the exception whose traceback has the frame of that variable: a cycle with everything else in
the frame (pytorch#10348). The collector is off. To change: del problem, or keep its text."""
import gc

import torch

gc.disable()


def check(values):
    count = len(values)
    problem = None
    try:
        raise ArithmeticError(f"{count} bad values")
    except ArithmeticError as error:
        problem = error
    return problem is not None


model = torch.nn.Linear(64, 1024).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(16):
    output = model(torch.randn(256, 64, device="cuda"))
    check(output.detach())
    optimizer.zero_grad()
    output.square().mean().backward()
    optimizer.step()
