"""Looks by time, by question, by memprof.holders() and at a snapshot come while a function that torch.compile made runs:
TorchDynamo must not compile what looks.

Nor may a look become part of a graph that torch.jit.trace records.

usage: memprof run --holders [--sim] -- python compiled.py BUILD

The status is 1 if it compiled a file of the looks, besides the two that a call from a compiled function comes through.
"""

import os
import socket
import sys
import threading
import time

import torch
import torch._dynamo
from torch._dynamo import convert_frame

sys.path.insert(0, os.path.join(sys.argv[1], "lib", "memprof", "python"))
import memprof  # noqa: E402

model = torch.nn.Linear(16, 16).cuda()
kept, held = [], []


def work(seconds):
    """Executes Python, within the compiled function."""
    torch._dynamo.graph_break()
    end, rounds = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        rounds += 1
    return rounds


@torch.compile(backend=lambda graph, inputs: graph.forward)
def step(batch):
    output = model(batch)
    work(0.8)
    memprof.snapshot("within")
    kept.append(output)
    held.extend(memprof.holders(output))
    return output.sum()


def ask():
    for _ in range(3):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.connect("\0memprof-holders-%d" % os.getpid())
            while connection.recv(1 << 16):
                pass


def traced(look):
    """The nodes of the graph of a function that calls `look`."""
    kept.append(torch.randn(4, 16, device="cuda"))
    graph = torch.jit.trace(lambda batch: (look(), batch.sum() * 2)[1], kept[-1], check_trace=False).graph
    return [node.kind() for node in graph.nodes()]


torch.randn(1, device="cuda")
asker = threading.Thread(target=ask)
asker.start()
for _ in range(3):
    step(torch.randn(4, 16, device="cuda"))
asker.join()
files = sorted({code().co_filename for code in convert_frame.input_codes.seen if code() is not None})
own = [file for file in files if "_holders" in file and os.path.basename(file) not in ("ask.py", "shield.py")]
print("compiled: %d files, of memprof: %s; held by %s" % (len(files), own, [each["path"] for each in held]))
alone, within = traced(lambda: None), traced(lambda: memprof.snapshot("within a trace"))
print("traced: %s alone, %s with a look" % (alone, within))
sys.exit(1 if own or alone != within or not any("kept" in each["path"] for each in held) else 0)
