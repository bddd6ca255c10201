"""Logs of generated traffic on the null driver, and the same number of events in the form of PyTorch's memory
snapshots."""
import pickle
import random
import time
from pathlib import Path

import measure

STACKS = 64


def record(build, scratch, events):
    """A log of about this number of events of two threads (benchmarks/random_traffic.cc)."""
    log = Path(scratch) / f"{events}.mprof"
    measure.Process([build / "bin/random_traffic", 2, events // 2, STACKS, 7], {
        "LD_LIBRARY_PATH": str(build / "null_driver"),
        "LD_PRELOAD": str(build / "lib/libmemprof.so"), "MEMPROF_OUTPUT": str(log)}).wait()
    return log


def record_framework(build, scratch, events):
    """A log of about this number of events of a training with a framework's allocator
    (benchmarks/framework_traffic.cc)."""
    log = Path(scratch) / f"framework-{events}.mprof"
    measure.Process([build / "bin/framework_traffic", events, STACKS, 7], {
        "LD_LIBRARY_PATH": f"{build / 'null_driver'}:{build / 'lib'}", "MEMPROF_OUTPUT": str(log),
        "LD_PRELOAD": str(build / "lib/libmemprof.so")}).wait()
    return log


def snapshot(events):
    """A pickle of events like torch.cuda.memory._snapshot()'s, without frames."""
    draw = random.Random(7)
    trace = [{"action": "alloc" if i % 2 == 0 else "free_completed", "addr": 0x7f0000000000 + 512 * draw.randrange(1 << 20),
              "size": draw.randrange(1 << 20), "stream": 0, "time_us": 1000 * i, "frames": []} for i in range(events)]
    return pickle.dumps({"segments": [], "device_traces": [trace]})


def timed(action):
    begin = time.monotonic()
    action()
    return time.monotonic() - begin
