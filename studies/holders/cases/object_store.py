# half: fourth
# kind: python
# names: objects store
# or: objects ObjectStore
# bytes: 16777216
"""Actors hand tensors to each other through a store that counts references; each receiver borrows an object, which adds
one, and gives it back only at its end (ray#51262 is about objects on the GPU that are not collected). To change:
store.release(name) after the call."""
import torch


class ObjectStore:
    def __init__(self):
        self.objects = {}
        self.counts = {}

    def put(self, value):
        name = f"object-{len(self.counts)}"
        self.objects[name] = value
        self.counts[name] = 1
        return name

    def borrow(self, name):
        self.counts[name] += 1
        return self.objects[name]

    def release(self, name):
        self.counts[name] -= 1
        if self.counts[name] == 0:
            del self.objects[name]


class Sampler:
    def __init__(self, store):
        self.store = store

    def sample(self):
        return self.store.put(torch.randn(256, 1024, device="cuda"))


class Learner:
    def __init__(self, store):
        self.store = store
        self.model = torch.nn.Linear(1024, 8).to("cuda")
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def learn(self, name):
        self.optimizer.zero_grad()
        self.model(self.store.borrow(name)).square().mean().backward()
        self.optimizer.step()


def run(steps):
    store = ObjectStore()
    sampler, learner = Sampler(store), Learner(store)
    for _ in range(steps):
        name = sampler.sample()
        learner.learn(name)
        store.release(name)


run(16)
