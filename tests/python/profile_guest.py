"""A program with memprof.profile and memprof.phase that counts its own memory, without a framework."""

import ctypes
import json
import logging
import random
import sys

import memprof

cudart = ctypes.CDLL(sys.argv[1])
logging.basicConfig(stream=sys.stderr, format="%(name)s %(message)s")
blocks, levels = {}, [0]


def allocate(count):
    pointer = ctypes.c_void_p()
    if cudart.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(count)) != 0:
        raise RuntimeError("CUDA error: out of memory")
    blocks[pointer.value] = count
    levels.append(levels[-1] + count)


def free(pointer):
    assert cudart.cudaFree(ctypes.c_void_p(pointer)) == 0
    levels.append(levels[-1] - blocks.pop(pointer))


def work(count):
    """The highest level of some random work, with the level at its begin."""
    first = len(levels) - 1
    for _ in range(count):
        if blocks and random.random() < 0.5:
            free(random.choice(list(blocks)))
        else:
            allocate(random.randrange(1, 64) << 16)
    return max(levels[first:])


def keep(count):
    allocate(count)


said = {}
random.seed(4)
allocate(256 << 20)
free(next(iter(blocks)))  # A peak before the block, which is not the block's.
with memprof.profile(out=sys.argv[2]) as p:
    wanted = {"rollout": 0, "train": 0}
    for step in range(16):
        memprof.step(step)
        for name in wanted:
            with memprof.phase(name):
                wanted[name] = max(wanted[name], work(20))
        with memprof.range("no phase"):
            keep(1 << 20)
            del blocks[list(blocks)[-1]]  # never freed
    said["within"] = p.peak()
said.update(wanted=wanted, peak=p.peak(), phases=p.phases(), leaks=p.leaks(), text=str(p), level=max(levels[2:]))
allocate(300 << 20)
said["after"] = p.peak()
free(list(blocks)[-1])
with memprof.profile() as p:
    said["now"] = levels[-1]
allocate(400 << 20)  # After the block, and higher.
said["at_once"] = p.peak()[0]
with memprof.profile() as p:
    assert cudart.cudaSetDevice(1) == 0
    allocate(900 << 20)
    assert cudart.cudaSetDevice(0) == 0
said["devices"] = [peak["device"] for peak in p.peak()]


@memprof.profile(on_oom="report")
def too_much(count):
    """Twice the device."""
    allocate(count)


for number in (1, 2):
    try:
        too_much(number << 40)
    except RuntimeError as error:
        said["error%d" % number] = [str(error), getattr(error, "__notes__", None)]
try:
    with memprof.profile(on_oom="report"):
        raise RuntimeError("out of memory")  # which the log does not know
except RuntimeError as error:
    said["unknown"] = getattr(error, "__notes__", None)
try:
    with memprof.profile(on_oom="report", out="/nonexistent/folder/x.txt"):
        raise KeyError("mine")
except KeyError as error:
    said["other"] = [str(error), getattr(error, "__notes__", None)]
print(json.dumps(said))
