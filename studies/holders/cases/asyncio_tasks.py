# half: first
# kind: python
# names: features upload
# or: background
# bytes: 16777216
"""Each step starts an asyncio task that uploads features and waits for a connection that does not come; the coroutines
hold their argument. To change: a time limit, or upload a CPU copy."""
import asyncio

import torch


async def upload(features, connected):
    await connected.wait()
    return features.shape


async def train():
    model = torch.nn.Linear(64, 1024).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    connected, background = asyncio.Event(), set()
    for _ in range(16):
        features = model(torch.randn(256, 64, device="cuda"))
        optimizer.zero_grad()
        features.square().mean().backward()
        optimizer.step()
        task = asyncio.create_task(upload(features.detach(), connected))
        background.add(task)
        task.add_done_callback(background.discard)
        await asyncio.sleep(0)


asyncio.run(train())
