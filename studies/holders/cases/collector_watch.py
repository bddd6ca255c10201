# half: fifth
# kind: python autograd
# names: seen on_collect
# or: seen watch_collections
# bytes: 20971520
"""To see which tensors live when the collector runs, a function hangs in gc.callbacks and notes them; it notes the
tensors themselves and not what they look like, and so none of them dies any more (recipes that list tensors by
gc.get_objects()). To change: keep type and shape, or weak references."""
import gc

import torch


def watch_collections():
    seen = {}

    def on_collect(phase, info):
        if phase == "start":
            for thing in gc.get_objects():
                if type(thing) is torch.Tensor and thing.is_cuda:
                    seen[id(thing)] = thing

    gc.callbacks.append(on_collect)


def train_step(model, optimizer):
    output = model(torch.randn(256, 64, device="cuda"))
    optimizer.zero_grad()
    output.square().mean().backward()
    gc.collect()
    optimizer.step()


watch_collections()
model = torch.nn.Linear(64, 1024).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(16):
    train_step(model, optimizer)
