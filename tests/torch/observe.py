"""Runs a script as if Python ran it, then prints one line of JSON: what PyTorch's allocator did."""
import json
import runpy
import sys
import time

sys.argv = sys.argv[1:]
held = runpy.run_path(sys.argv[0], run_name="__main__")  # as a program holds its globals to its end

import torch  # noqa: E402  (the script decides when it is first imported)

stats = torch.cuda.memory_stats()
names = ["allocation.all.allocated", "allocation.all.freed", "allocated_bytes.all.peak",
         "allocated_bytes.all.current", "reserved_bytes.all.peak", "reserved_bytes.all.current",
         "segment.all.allocated", "num_ooms"]
time.sleep(0.05)  # autograd's workers drop what they hold (docs/torch-sim.md, Limits)
print("observed " + json.dumps({name: stats[name] for name in names}))
