# half: second
# kind: python
# names: answers server
# or: answers Server
# bytes: 16777216
"""A server of a model files a future for each request, by number, and sets its result; the client reads it, but the
entry stays (reports on request batching servers). To change: pop the answer when it was read."""
import asyncio

import torch


class Server:
    def __init__(self):
        self.model = torch.nn.Linear(64, 1024).to("cuda")
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.answers = {}

    async def ask(self, number):
        self.answers[number] = asyncio.get_running_loop().create_future()
        self.work(number)
        return (await self.answers[number]).shape

    def work(self, number):
        output = self.model(torch.randn(256, 64, device="cuda"))
        self.optimizer.zero_grad()
        output.square().mean().backward()
        self.optimizer.step()
        self.answers[number].set_result(output.detach())


async def main():
    server = Server()
    for number in range(16):
        await server.ask(number)


asyncio.run(main())
