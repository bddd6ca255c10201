"""Guest of scripts/gpu-check: runs an unmodified script; prints the figures of PyTorch's allocator.

usage: torch_totals.py SCRIPT
"""
import json
import runpy
import sys
import time

import torch

runpy.run_path(sys.argv[1], run_name="__main__")
torch.cuda.synchronize()
print(json.dumps({"allocated": torch.cuda.max_memory_allocated(), "reserved": torch.cuda.max_memory_reserved(),
                  "allocs": torch.cuda.memory_stats()["allocation.all.allocated"]}), flush=True)
time.sleep(0.05)  # a worker of autograd may still wait for the interpreter
