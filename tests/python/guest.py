"""A program that uses the module and takes device memory by the runtime, without a framework."""

import ctypes
import json
import sys

import memprof

cudart = ctypes.CDLL(sys.argv[1])


def allocate(size):
    pointer = ctypes.c_void_p()
    assert cudart.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(size)) == 0
    return pointer


before = memprof.recording()
assert cudart.cudaFree(None) == 0  # the first CUDA call, which starts recording
kept = []
for step in (0, 1, 2):
    memprof.step(step)
    with memprof.range("forward"):
        with memprof.range("größer"):
            kept.append(allocate(1 << 20))
    assert cudart.cudaFree(allocate(2 << 20)) == 0
memprof.snapshot("after three")
report = memprof.report(json=True)
memprof.stop()
allocate(8 << 20)
stopped = memprof.recording()
started = memprof.start()
memprof.flush()
print(json.dumps({
    "before": before,
    "stopped": stopped,
    "started": started,
    "recording": memprof.recording(),
    "stats": memprof.stats(),
    "log": memprof.log_path(),
    "report": report,
}))
