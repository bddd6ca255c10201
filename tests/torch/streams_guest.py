"""Blocks that other streams use, freed while those streams are busy. Prints what PyTorch counts: "said {…}"."""
import ctypes
import json
import time

import torch

MIB = 1 << 20
libc, driver = ctypes.CDLL(None), ctypes.CDLL("libcuda.so.1")
main, side = torch.cuda.current_stream(), torch.cuda.Stream()
model = torch.nn.Linear(8, 8, device="cuda")
optimizer = torch.optim.SGD(model.parameters())
waited = []


def take(mebibytes):
    return torch.empty(mebibytes * MIB, dtype=torch.uint8, device="cuda")


def count():
    stats = torch.cuda.memory_stats()
    return (stats["active_bytes.all.current"] - stats["allocated_bytes.all.current"],
            stats["active.all.current"] - stats["allocation.all.current"])


def step():
    model(torch.ones(2, 8, device="cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()


def give(tensor, stream):
    time.sleep(0.02)  # so that the agent asks each time
    tensor.record_stream(stream)
    waited.append(count())


step()
gate = ctypes.create_string_buffer(32)
libc.sem_init(gate, 0, 0)
driver.cuLaunchHostFunc(ctypes.c_void_p(side.cuda_stream), libc.sem_wait, gate)  # the stream waits for the gate
give(take(3), side)
give(take(40), side)
give(take(5), torch.Stream(device="cuda"))  # idle
give(take(7), main)  # its own
take(1).record_stream(s=side)
step()
waited.append(count())
libc.sem_post(gate)
torch.cuda.synchronize()
take(2)  # PyTorch looks which streams are done
print("said " + json.dumps({"waited": waited, "end": count(),
                            "peak": torch.cuda.memory_stats()["active_bytes.all.peak"]}))
