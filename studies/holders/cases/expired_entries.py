# half: fourth
# kind: python
# names: entries TTLCache
# or: embedding_cache
# or: entries encoder
# bytes: 16777216
"""A cache forgets its entries after some time, but looks at the time of an entry only when someone asks for it again;
no text comes twice, so what has expired stays (reports on caches with a time to live). To change: drop old entries on
each put, or bound their number."""
import time

import torch


class TTLCache:
    def __init__(self, seconds):
        self.seconds = seconds
        self.entries = {}

    def get(self, key):
        made, value = self.entries.get(key, (0.0, None))
        if value is not None and time.monotonic() - made > self.seconds:
            del self.entries[key]
            return None
        return value

    def put(self, key, value):
        self.entries[key] = time.monotonic(), value


class Encoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(64, 1024)
        self.embedding_cache = TTLCache(seconds=0.001)

    @torch.no_grad()
    def encode(self, text):
        found = self.embedding_cache.get(text)
        if found is None:
            found = self.layer(torch.randn(256, 64, device="cuda"))
            self.embedding_cache.put(text, found)
        return found


encoder = Encoder().to("cuda")
probe = torch.nn.Linear(1024, 4).to("cuda")
optimizer = torch.optim.SGD(probe.parameters(), lr=0.1)
for number in range(16):
    optimizer.zero_grad()
    probe(encoder.encode(f"text {number}")).square().mean().backward()
    optimizer.step()
