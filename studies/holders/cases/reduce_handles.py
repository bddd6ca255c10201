# half: third
# kind: c++ python
# names: handles
# bytes: 33554432
"""Features are averaged over processes by asynchronous reductions, and their handles are listed to wait for them; they
were waited for, but a handle has its tensors, and the copies of them on the host, as long as it lives (questions on
async_op=True). To change: clear the list after the wait."""
import torch
import torch.distributed


class Averager:
    def __init__(self):
        self.handles = []

    def average(self, tensor):
        handle = torch.distributed.all_reduce(tensor, async_op=True)
        self.handles.append(handle)
        handle.wait()


def fit(model, optimizer, averager):
    for _ in range(16):
        features = model(torch.randn(256, 64, device="cuda"))
        optimizer.zero_grad()
        features.square().mean().backward()
        optimizer.step()
        averager.average(features.detach())


torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
averager = Averager()
model = torch.nn.Linear(64, 1024).to("cuda")
fit(model, torch.optim.SGD(model.parameters(), lr=0.1), averager)
