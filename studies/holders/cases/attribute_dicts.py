# half: seventh
# kind: cycle
# names: AttrDict
# or: features __dict__
# bytes: 25165824
"""A batch is a dict whose keys are also attributes, by the well-known line self.__dict__ = self: the dict is its own
namespace and so holds itself (pykit#14 mentions it, addict#86 is a cycle of the same kind). The collector is off while
an epoch runs. To change: __getattr__ and __setattr__ instead, or types.SimpleNamespace."""
import gc
import time

import torch


class AttrDict(dict):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.__dict__ = self


def collate(model):
    images = torch.randn(256, 64, device="cuda")
    with torch.no_grad():
        return AttrDict(images=images, features=model(images))


def run_epoch(student, teacher, optimizer):
    gc.disable()
    for _ in range(24):
        batch = collate(teacher)
        optimizer.zero_grad()
        (student(batch.images) - batch.features).square().mean().backward()
        optimizer.step()
        time.sleep(0.03)  # stands for the time of the kernels


teacher = torch.nn.Linear(64, 1024).to("cuda")
student = torch.nn.Linear(64, 1024).to("cuda")
run_epoch(student, teacher, torch.optim.SGD(student.parameters(), lr=0.1))
