# half: fifth
# kind: cycle
# names: context Request
# or: current_request Request
# bytes: 16777216
"""A request runs in a copy of the context, which it keeps to run its callbacks in later; a variable of that context is
the request itself, for logging: a cycle through the context (reports on request objects in context variables). The
server switched the collector off between requests and never runs it. To change: a weak reference in current_request, or
drop the context when the answer is sent."""
import contextvars
import gc

import torch

current_request = contextvars.ContextVar("current_request")


class Request:
    def __init__(self, number):
        self.number = number
        self.features = None
        self.context = contextvars.copy_context()

    def handle(self, model):
        return self.context.run(self.answer, model)

    def answer(self, model):
        current_request.set(self)
        with torch.no_grad():
            self.features = model(torch.randn(256, 64, device="cuda"))
        return log_shape()


def log_shape():
    request = current_request.get()
    return f"request {request.number}: {tuple(request.features.shape)}"


gc.collect()
gc.disable()
model = torch.nn.Linear(64, 1024).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for number in range(16):
    optimizer.zero_grad()
    model(torch.randn(32, 64, device="cuda")).square().mean().backward()
    optimizer.step()
    Request(number).handle(model)
