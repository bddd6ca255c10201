"""A small training loop on PyTorch, told by MEMORY_HISTORY to keep PyTorch's own memory history with these
stacks ("python" or "all"). For each line with a number of steps on standard input it takes them, and prints
the median wall time and the mean CPU time of a step, and how many blocks a step takes.

usage: python torch_steps.py"""
import os
import statistics
import sys
import time

import torch
from torch import nn

if os.environ.get("MEMORY_HISTORY"):
    torch.cuda.memory._record_memory_history(stacks=os.environ["MEMORY_HISTORY"])
torch.set_num_threads(1)
torch.manual_seed(0)
model = nn.Sequential(nn.Embedding(512, 128), *(nn.TransformerEncoderLayer(128, 4, 256, batch_first=True)
                                                for _ in range(2)), nn.Linear(128, 512)).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)


def step():
    tokens = torch.randint(0, 512, (4, 32), device="cuda")
    loss = nn.functional.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def handed_out():
    return torch.cuda.memory_stats()["allocation.all.allocated"]


for _ in range(10):
    step()
print("ready", flush=True)
for line in sys.stdin:
    before, cpu, walls = handed_out(), time.process_time(), []
    for _ in range(int(line)):
        begin = time.perf_counter()
        step()
        walls.append(time.perf_counter() - begin)
    cpu = time.process_time() - cpu
    print(f"wall_us={1e6 * statistics.median(walls):.2f} cpu_us={1e6 * cpu / len(walls):.2f} "
          f"allocs={(handed_out() - before) / len(walls):.2f}", flush=True)
