# half: seventh
# kind: cycle
# names: _old_forward
# or: forward Adapter
# or: new_forward Adapter
# bytes: 25165824
"""To move inputs to the right device, the forward of a module is replaced by a partial function of the module itself,
and the old one, a bound method, is kept in it: the module holds both, and both the module (the way hooks are added in
Accelerate; accelerate#739 is about memory from run to run). An adapter is made for each task, and garbage is collected
every 1000 steps, as in torchtitan. To change: take the hook off when a task is done."""
import functools
import gc
import time

import torch


class GarbageCollection:
    def __init__(self, every):
        self.every = every
        gc.disable()
        gc.collect()

    def run(self, step):
        if step and step % self.every == 0:
            gc.collect(1)


class Adapter(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(64, 4096))

    def forward(self, inputs):
        return inputs @ self.weight


def add_device_hook(module, device):
    def new_forward(module, *inputs):
        return module._old_forward(*[value.to(device) for value in inputs])

    module._old_forward = module.forward
    module.forward = functools.update_wrapper(functools.partial(new_forward, module), module._old_forward)
    return module


def train_task(number):
    adapter = add_device_hook(Adapter().to("cuda"), "cuda")
    optimizer = torch.optim.SGD(adapter.parameters(), lr=0.1)
    adapter(torch.randn(8, 64)).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()


def main():
    collection = GarbageCollection(every=1000)
    for number in range(24):
        collection.run(number)
        train_task(number)
        time.sleep(0.03)  # stands for the time of the kernels


main()
