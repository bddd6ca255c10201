# half: third
# kind: python
# names: kv_cache sampler
# or: kv_cache Sampler
# or: layers sampler
# bytes: 16777216
"""Samples are taken during training, and the sampler keeps its cache of keys and values as an attribute for the next
call, which continues the old text instead of a new one: each layer's tensors get longer (transformers#47731 is about
such an attribute). To change: a new cache in each call of generate."""
import torch


class DynamicCache:
    def __init__(self, layers, width):
        self.layers = [torch.zeros(0, 2, width, device="cuda") for _ in range(layers)]

    def update(self, layer, keys, values):
        self.layers[layer] = torch.cat([self.layers[layer], torch.stack([keys, values], dim=1)])


class Sampler:
    def __init__(self, model):
        self.model = model
        self.kv_cache = None

    @torch.no_grad()
    def generate(self, prompt):
        if self.kv_cache is None:
            self.kv_cache = DynamicCache(layers=4, width=1024)
        for layer in range(4):
            keys = values = self.model(prompt)
            self.kv_cache.update(layer, keys, values)
        return self.kv_cache.layers[-1][-1]


def train(model, sampler, optimizer):
    for _ in range(16):
        optimizer.zero_grad()
        model(torch.randn(16, 64, device="cuda")).square().mean().backward()
        optimizer.step()
        sampler.generate(torch.randn(32, 64, device="cuda"))


model = torch.nn.Linear(64, 1024).to("cuda")
sampler = Sampler(model)
train(model, sampler, torch.optim.SGD(model.parameters(), lr=0.1))
