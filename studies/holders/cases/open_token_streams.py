# half: third
# kind: python
# names: open_streams
# or: keys stream_tokens
# bytes: 16777216
"""A service answers with streams of tokens, which are asynchronous generators; clients go away after the first token,
and their streams stay in a dict, each with the keys of its request in its frame. To change: aclose() when the client
has gone."""
import asyncio

import torch


async def stream_tokens(model, prompt):
    with torch.no_grad():
        keys = model(prompt)
    for place in range(100):
        await asyncio.sleep(0)
        yield keys[place, 0]


class Service:
    def __init__(self, model):
        self.model = model
        self.open_streams = {}

    async def answer(self, request):
        tokens = stream_tokens(self.model, torch.randn(256, 64, device="cuda"))
        self.open_streams[request] = tokens
        async for _ in tokens:
            break


model = torch.nn.Linear(64, 1024).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
service = Service(model)
loop = asyncio.new_event_loop()
for request in range(16):
    loop.run_until_complete(service.answer(request))
    optimizer.zero_grad()
    model(torch.randn(8, 64, device="cuda")).square().mean().backward()
    optimizer.step()
