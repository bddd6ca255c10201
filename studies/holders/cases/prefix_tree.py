# half: fourth
# kind: python
# names: prefix_cache
# or: RadixCache
# or: keys_values PrefixNode
# bytes: 16777216
"""A server keeps the keys and values of prompts in a tree by their tokens, so that prompts that begin alike share them;
it was meant to drop the oldest leaves when memory is short, which nobody called (reports on prefix caches in servers of
language models). To change: evict after each insert."""
import torch


class PrefixNode:
    __slots__ = ("children", "keys_values")

    def __init__(self):
        self.children = {}
        self.keys_values = None


class RadixCache:
    def __init__(self):
        self.top = PrefixNode()

    def insert(self, tokens, keys_values):
        node = self.top
        for token in tokens:
            node = node.children.setdefault(token, PrefixNode())
        node.keys_values = keys_values


class Server:
    def __init__(self, model):
        self.model = model
        self.prefix_cache = RadixCache()

    @torch.no_grad()
    def answer(self, tokens):
        self.prefix_cache.insert(tokens, self.model(torch.randn(256, 64, device="cuda")))


def fine_tune(model, optimizer):
    optimizer.zero_grad()
    model(torch.randn(8, 64, device="cuda")).square().mean().backward()
    optimizer.step()


model = torch.nn.Linear(64, 1024).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
server = Server(model)
for request in range(16):
    server.answer((1, 7, 7, request % 4, request))
    fine_tune(model, optimizer)
