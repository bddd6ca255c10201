"""A small training loop on PyTorch. With MEMORY_HISTORY it keeps PyTorch's own memory history with these stacks
("python" or "all"); with OPERATORS all operators get names ("dispatch": by a TorchDispatchMode; "nvtx": by PyTorch's
emit_nvtx). For each line with a number of steps on standard input it runs these steps, and prints the median wall time
and the mean CPU time of a step, and the number of blocks that a step allocates.

usage: python torch_steps.py"""
import contextlib
import ctypes
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



def naming():
    how = os.environ.get("OPERATORS")
    if how == "nvtx":
        return torch.autograd.profiler.emit_nvtx()
    if how != "dispatch":
        return contextlib.nullcontext()
    from torch.utils._python_dispatch import TorchDispatchMode
    recorder = ctypes.PyDLL(None)
    push, pop = recorder.memprof_range_push, recorder.memprof_range_pop
    push.argtypes = [ctypes.c_char_p]

    class Named(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            push(func.name().encode())
            try:
                return func(*args, **(kwargs or {}))
            finally:
                pop()

    return Named()


for _ in range(10):
    step()
named = naming()
named.__enter__()
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
