# half: sixth
# kind: python
# names: features upload
# or: loop upload
# or: loop features
# bytes: 16777216
"""Uploads are coroutines that a training hands to an event loop with run_coroutine_threadsafe(); the loop should run in
a thread, but was only run until the connection stood, so all that it is given waits to be begun (questions on
run_coroutine_threadsafe() that does nothing). To change: run loop.run_forever() in a thread, and bound what waits."""
import asyncio

import torch


class Uploader:
    def __init__(self):
        self.loop = asyncio.new_event_loop()
        self.loop.run_until_complete(self.connect())

    async def connect(self):
        await asyncio.sleep(0)

    async def upload(self, name, features):
        await asyncio.sleep(0.01)
        return name, features.shape

    def submit(self, name, features):
        asyncio.run_coroutine_threadsafe(self.upload(name, features), self.loop)


def main(uploader):
    model = torch.nn.Linear(64, 1024).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(16):
        output = model(torch.randn(256, 64, device="cuda"))
        optimizer.zero_grad()
        output.square().mean().backward()
        optimizer.step()
        uploader.submit(f"step {step}", output.detach())


main(Uploader())
