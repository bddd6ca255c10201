# half: second
# kind: python
# names: calls forward_pass
# or: calls wrapper
# or: calls remember_calls
# bytes: 16777216
"""A decorator for debugging stores the result of each call in an attribute of its wrapper, and stayed in the program.
To change: take the decorator off, or keep shapes."""
import functools

import torch


def remember_calls(function):
    @functools.wraps(function)
    def wrapper(*arguments):
        result = function(*arguments)
        wrapper.calls.append((function.__name__, result.detach()))
        return result
    wrapper.calls = []
    return wrapper


@remember_calls
def forward_pass(model, batch):
    return model(batch).relu()


model = torch.nn.Linear(64, 1024).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(16):
    loss = forward_pass(model, torch.randn(256, 64, device="cuda")).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
