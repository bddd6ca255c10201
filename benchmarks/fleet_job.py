"""One rank of a data-parallel training whose ranks do not all behave, to make logs of a fleet.

usage: memprof run -o 'logs/%j/%r.%h.mprof' -- torchrun --nproc-per-node=8 --rdzv-id=JOB \
           --rdzv-backend=c10d --rdzv-endpoint=localhost:0 benchmarks/fleet_job.py [STEPS]

Of eight ranks, 5 keeps an output of each step, 2 has batches that are a quarter larger, and 6 asks once for more than
there is and goes on. The process group is gloo: ranks may share one device.
"""

import sys

import torch
import torch.distributed as dist
from torch import nn


class History:
    def __init__(self):
        self.outputs = []


def main():
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(512, 8, 2048, batch_first=True)
    model = nn.Sequential(nn.TransformerEncoder(layer, 4), nn.Linear(512, 1000)).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    history = History()
    rows = 20 if rank == 2 else 16
    for step in range(steps):
        inputs = torch.randn(rows, 128, 512, device="cuda")
        outputs = model(inputs)
        loss = outputs.float().square().mean()
        loss.backward()
        for parameter in model.parameters():
            if parameter.grad is not None:
                total = parameter.grad.sum().cpu()
                dist.all_reduce(total)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        if rank == 5 and step >= 10:
            history.outputs.append(outputs[0].detach().clone())
        if rank == 6 and step == steps // 2:
            try:
                torch.empty(1 << 42, dtype=torch.uint8, device="cuda")
            except torch.cuda.OutOfMemoryError:
                pass
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
