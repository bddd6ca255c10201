"""Runs a script as Python would, then prints the figures of PyTorch's allocator, and the rows of its own trace. If
there is a trace it exits at once, so that nothing more is freed."""
import json
import os
import sys

import torch

try:
    torch.cuda.memory._record_memory_history(max_entries=1 << 20, stacks="python")
except RuntimeError:
    pass  # backends without a trace
with open(sys.argv[1], encoding="utf-8") as script:
    exec(compile(script.read(), sys.argv[1], "exec"), {"__name__": "__main__"})
stats = torch.cuda.memory_stats()
figures = {"peak_bytes": stats["allocated_bytes.all.peak"], "live_bytes": stats["allocated_bytes.all.current"],
           "peak_reserved_bytes": stats["reserved_bytes.all.peak"],
           "reserved_bytes": stats["reserved_bytes.all.current"]}
if stats["allocation.all.allocated"]:
    figures["live_blocks"] = stats["allocation.all.current"]
row = []
if "live_blocks" in figures:
    traces = torch.cuda.memory._snapshot()["device_traces"]
    row = [(entry["action"], entry.get("addr", 0), entry["size"]) for entry in traces[0]]
print("observed " + json.dumps({"figures": figures, "ooms": stats["num_ooms"], "row": row}), flush=True)
if row:
    os._exit(0)
