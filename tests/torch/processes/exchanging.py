"""Ranks that need each other's data: a mesh of two dimensions, objects of different sizes, a checkpoint of shards, a
pipeline. Started by torchrun on four devices. With FAKE set, one rank of them alone only trains."""
import os
import sys

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as checkpoint
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.pipelining import PipelineStage, Schedule1F1B
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

WIDTH = 256


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(WIDTH, 4 * WIDTH)
        self.down = nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(x)))


def start():
    if not os.environ.get("FAKE"):
        return dist.init_process_group("nccl")
    from torch.testing._internal.distributed.fake_pg import FakeStore
    return dist.init_process_group("fake", rank=int(os.environ["RANK"]), world_size=4, store=FakeStore())


def train():
    mesh = init_device_mesh("cuda", (2, 2), mesh_dim_names=("data", "tensor"))
    model = nn.Sequential(*(Block() for _ in range(2))).cuda()
    for block in model:
        parallelize_module(block, mesh["tensor"], {"up": ColwiseParallel(), "down": RowwiseParallel()})
        fully_shard(block, mesh=mesh["data"])
    fully_shard(model, mesh=mesh["data"])
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(3):
        model(torch.randn(32, WIDTH, device="cuda")).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    return model


def objects(rank):
    def own(of):
        return {"rank": of, "text": "x" * (100 * of)}

    everyone = [own(of) for of in range(4)]
    gathered = [None] * 4
    dist.all_gather_object(gathered, own(rank))
    assert gathered == everyone, gathered
    at_two = [None] * 4 if rank == 2 else None
    dist.gather_object(own(rank), at_two, dst=2)
    assert rank != 2 or at_two == everyone, at_two
    sent = [own(3), own(1)] if rank == 1 else [None, None]
    dist.broadcast_object_list(sent, src=1)
    assert sent == [own(3), own(1)], sent
    received = [None]
    dist.scatter_object_list(received, everyone if rank == 3 else None, src=3)
    assert received == [own(rank)], received
    total = torch.tensor([rank + 1.0]).cuda()
    dist.all_reduce(total)
    assert total.item() == 10, total


def save_and_load(model, folder):
    state = {"model": model.state_dict()}
    checkpoint.save(state, checkpoint_id=folder)
    checkpoint.load(state, checkpoint_id=folder)


def run_pipeline(rank):
    device = torch.device("cuda", rank)
    stage = PipelineStage(Block().to(device), rank, 4, device)
    schedule = Schedule1F1B(stage, n_microbatches=4, loss_fn=lambda output, target: (output - target).pow(2).mean())
    data = torch.randn(16, WIDTH, device=device)
    schedule.step(*[data] if rank == 0 else [], **{"target": data} if rank == 3 else {})


def main():
    start()
    rank = dist.get_rank()
    torch.cuda.set_device(rank)
    model = train()
    sys.stdout.write(f"peak {rank} {torch.cuda.max_memory_allocated()} {torch.cuda.max_memory_reserved()}\n")
    sys.stdout.flush()
    if not os.environ.get("FAKE"):
        objects(rank)
        save_and_load(model, sys.argv[1])
        run_pipeline(rank)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
