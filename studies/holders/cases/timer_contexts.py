# half: third
# kind: python
# names: current_features
# or: flush_statistics
# bytes: 16777216
"""Each step asks the event loop to call something in an hour, with a number as its only argument; but a timer also
keeps a copy of the context in which it was set, and a context variable has the features there (reports on contextvars
and call_later). To change: loop.call_later(..., context=contextvars.Context()), or reset the variable first."""
import asyncio
import contextvars

import torch

current_features = contextvars.ContextVar("current_features")


def flush_statistics(step):
    print(f"step {step} was an hour ago")


async def train_step(step, model, optimizer):
    features = model(torch.randn(256, 64, device="cuda"))
    current_features.set(features.detach())
    asyncio.get_running_loop().call_later(3600, flush_statistics, step)
    optimizer.zero_grad()
    features.square().mean().backward()
    optimizer.step()


loop = asyncio.new_event_loop()
model = torch.nn.Linear(64, 1024).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(16):
    loop.run_until_complete(train_step(step, model, optimizer))
