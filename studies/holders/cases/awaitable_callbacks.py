# half: fourth
# kind: cycle
# names: callbacks EmbeddingsAwaitable
# or: callbacks Awaitable
# or: cut EmbeddingsAwaitable
# bytes: 16777216
"""What will be embeddings is an awaitable with a list of callbacks, and the class puts a method of the object itself
into the list: a cycle, which only the collector can free (torchrec#1226). The collector is off, for even step times. To
change: a callback that is given the object, or clear the list after wait()."""
import gc

import torch


class Awaitable:
    def __init__(self):
        self.callbacks = []

    def wait(self):
        result = self.compute()
        for callback in self.callbacks:
            result = callback(result)
        return result


class EmbeddingsAwaitable(Awaitable):
    def __init__(self, table, rows):
        super().__init__()
        self.rows = rows
        self.embeddings = table(rows).detach()
        self.callbacks.append(self.cut)

    def compute(self):
        return self.embeddings

    def cut(self, embeddings):
        return embeddings[: len(self.rows) // 2]


gc.disable()
table = torch.nn.Embedding(100, 1024).to("cuda")
head = torch.nn.Linear(1024, 4).to("cuda")
optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
for step in range(16):
    awaitable = EmbeddingsAwaitable(table, torch.zeros(256, dtype=torch.long, device="cuda"))
    optimizer.zero_grad()
    head(awaitable.wait()).square().mean().backward()
    optimizer.step()
