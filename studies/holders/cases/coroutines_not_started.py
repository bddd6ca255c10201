# half: fourth
# kind: python
# names: evaluations
# or: features evaluate
# bytes: 16777216
"""Evaluations are coroutines that should run together when training is over; a coroutine that has not begun has its
arguments already, and there is one for each step (questions on building coroutines first and gathering them later). To
change: run them as they come, or build them from file names."""
import asyncio

import torch


async def evaluate(step, features):
    await asyncio.sleep(0)
    return step, features.mean()


async def evaluate_all(evaluations):
    return await asyncio.gather(*evaluations)


def train(model, optimizer, steps, evaluate_at=1000):
    evaluations = []
    for step in range(steps):
        features = model(torch.randn(256, 64, device="cuda"))
        optimizer.zero_grad()
        features.square().mean().backward()
        optimizer.step()
        evaluations.append(evaluate(step, features.detach()))
        if len(evaluations) == evaluate_at:
            asyncio.run(evaluate_all(evaluations))
            evaluations.clear()
    for evaluation in evaluations:
        evaluation.close()


model = torch.nn.Linear(64, 1024).to("cuda")
train(model, torch.optim.SGD(model.parameters(), lr=0.1), steps=16)
