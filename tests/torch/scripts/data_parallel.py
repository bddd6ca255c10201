"""DistributedDataParallel over NCCL, one process for each device, started by torchrun or alone."""
import os

import torch
import torch.distributed as dist
from torch import nn

rank = int(os.environ.setdefault("RANK", "0"))
os.environ.setdefault("WORLD_SIZE", "1")
os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
os.environ.setdefault("MASTER_PORT", "0")
device = int(os.environ.get("LOCAL_RANK", "0"))
torch.cuda.set_device(device)
if os.environ["MASTER_PORT"] == "0":
    store = dist.TCPStore("127.0.0.1", 0, 1, is_master=True)
    dist.init_process_group("nccl", store=store, rank=0, world_size=1)
else:
    dist.init_process_group("nccl")
model = nn.parallel.DistributedDataParallel(nn.Linear(256, 256).cuda(), device_ids=[device])
optimizer = torch.optim.AdamW(model.parameters())
for step in range(4):
    loss = model(torch.randn(32, 256, device="cuda")).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
total = torch.ones(1, device="cuda")
dist.all_reduce(total)
dist.barrier()
dist.destroy_process_group()
