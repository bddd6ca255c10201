"""Fully sharded data parallel training, argv[1]: "each" parameter is sharded (fully_shard, with mixed precision),
or a layer's parameters as one flat tensor ("flat"); and tensor parallelism ("tensor"). Started by torchrun on two
devices; prints the peak of each rank from PyTorch."""
import functools
import os
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel, MixedPrecisionPolicy, fully_shard
from torch.distributed.fsdp.wrap import size_based_auto_wrap_policy
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

WIDTH = 512


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.up = nn.Linear(WIDTH, 4 * WIDTH)
        self.down = nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(self.norm(x))))


def each(model):
    for block in model:
        fully_shard(block, mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16))
    return fully_shard(model)


def flat(model):
    policy = functools.partial(size_based_auto_wrap_policy, min_num_params=100_000)
    return FullyShardedDataParallel(model, auto_wrap_policy=policy, device_id=torch.cuda.current_device())


def tensor(model):
    mesh = init_device_mesh("cuda", (2,))
    for block in model:
        parallelize_module(block, mesh, {"up": ColwiseParallel(), "down": RowwiseParallel()})
    return model


def main():
    rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl")
    model = globals()[sys.argv[1]](nn.Sequential(*(Block() for _ in range(3))).cuda())
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=sys.argv[1] != "tensor")
    for _ in range(12):
        loss = model(torch.randn(16, WIDTH, device="cuda")).float().pow(2).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    sys.stdout.write(f"rank {rank} peak {torch.cuda.max_memory_allocated()}\n")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
