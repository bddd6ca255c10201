# half: seventh
# kind: c++ python
# names: folds
# bytes: 25165824
"""In a validation over many folds each model is wrapped for distributed training and goes to the CPU when its fold is
done, so that the GPU is free for the next; the wrappers are listed, and each has a reducer in C++ with buckets as large
as the gradients, which .to("cpu") does not move (pytorch#128696). To change: folds.append(wrapped.module)."""
import time

import torch
import torch.distributed
from torch.nn.parallel import DistributedDataParallel


def train_fold(model, steps=2):
    wrapped = DistributedDataParallel(model)
    optimizer = torch.optim.SGD(wrapped.parameters(), lr=0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        wrapped(torch.randn(32, 256, device="cuda")).square().mean().backward()
        optimizer.step()
    optimizer.zero_grad()
    return wrapped.to("cpu")


def main():
    torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
    folds = []
    for _ in range(24):
        folds.append(train_fold(torch.nn.Linear(256, 1024).to("cuda")))
        time.sleep(0.03)  # stands for the time of the kernels
    print(len(folds), "folds")


main()
