"""Runs a script as Python would, then prints one line of JSON: figures of PyTorch's allocator."""
import json
import runpy
import sys
import time

sys.argv = sys.argv[1:]
held = runpy.run_path(sys.argv[0], run_name="__main__")  # keeps the globals, as Python does

import torch  # noqa: E402  (the script decides when it is first imported)

stats = torch.cuda.memory_stats()
names = ["allocation.all.allocated", "allocation.all.freed", "allocated_bytes.all.peak",
         "allocated_bytes.all.current", "reserved_bytes.all.peak", "reserved_bytes.all.current",
         "segment.all.allocated", "num_ooms"]
time.sleep(0.05)  # autograd's workers release their references (docs/torch-sim.md, Limits)
print("observed " + json.dumps({name: stats[name] for name in names}))
