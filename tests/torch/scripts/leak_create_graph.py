"""A seeded leak: backward(create_graph=True) makes a reference cycle of parameters and gradients (PyTorch's issues
7343 and 4661), which is never broken."""
import gc
import warnings

import torch
from torch import nn

warnings.filterwarnings("ignore", message="Using backward")
gc.disable()  # some programs disable it for speed
torch.manual_seed(0)
before = []
for step in range(24):
    model = nn.Linear(128, 128).cuda()  # a fresh inner model each step, as in meta-learning
    loss = model(torch.randn(32, 128, device="cuda")).pow(2).sum()
    loss.backward(create_graph=True)  # the leak: param.grad refers to a graph that refers to param
    before.append(torch.cuda.memory_allocated())
growth = [after - earlier for earlier, after in zip(before[4:], before[5:])]
assert min(growth) > 0, growth
print("grows by", growth[-1], "bytes a step")
