"""Reports to the memory profiler what only the program knows.

    import memprof

    for step, batch in enumerate(loader):
        memprof.step(step)
        with memprof.range("forward"):
            loss = model(batch)
        ...
    memprof.snapshot("after training")
    memprof.report()

All of it is optional: `memprof run -- python train.py` records a program without this module too.
While nothing is recorded, every function does nothing, so the calls can stay in the program.
Functions may be called from any thread, and raise exceptions only for wrong argument types.
"""

import contextlib
import ctypes
import json as _json
import os
import sys

from . import _command
from ._library import function as _function

__all__ = [
    "recording", "start", "stop", "flush", "step", "snapshot", "range", "holders", "pool_usage", "stats", "log_path",
    "report", "available", "profile", "phase", "phases",
]

_PATH_BYTES = 4096


class _Stats(ctypes.Structure):
    """struct memprof_stats of memprof.h."""

    _fields_ = [("size", ctypes.c_size_t)] + [
        (name, ctypes.c_uint64)
        for name in ("events", "events_lost", "allocations", "frees", "live_bytes", "peak_bytes",
                     "log_bytes")
    ] + [("recording", ctypes.c_uint32)]


_start = _function("memprof_start")
_stop = _function("memprof_stop")
_flush = _function("memprof_flush")
_step = _function("memprof_step")
_snapshot = _function("memprof_snapshot")
_pool_usage = _function("memprof_pool_usage", hold=True)
_push = _function("memprof_range_push")
_pop = _function("memprof_range_pop")
_get_stats = _function("memprof_get_stats")
_log_path = _function("memprof_log_path")

# Whether the program marks its steps itself. Read by the agent of `memprof run --torch`.
_marks_steps = False


def start():
    """Begins or resumes recording; True if recording is on now."""
    return _start is not None and _start() == 0


def stop():
    """Stops recording; `start` resumes into the same log."""
    if _stop is not None:
        _stop()


def flush():
    """Returns once all events recorded so far are in the log file, after a second at most."""
    if _flush is not None:
        _flush()


def step(number):
    """A training step begins now. Numbers should increase; there may be gaps. Recording begins with
    the first call to CUDA: earlier steps are not in the log."""
    global _marks_steps  # pylint: disable=global-statement
    _marks_steps = True
    if _step is not None:
        _step(int(number))


def snapshot(label):
    """Marks this instant by name; reports and the viewer can show the memory that was live then. With
    `memprof run --holders` it also looks which variables hold it."""
    watch = getattr(sys.modules.get("_memprof._holders.watch"), "watch", None)
    if watch is not None:
        watch.look()
    if _snapshot is not None:
        _snapshot(str(label).encode())


def holders(tensor):
    """What keeps the memory of a PyTorch tensor on a GPU alive, the most telling first: a list of dictionaries with
    `path` ("list `cache` (global `cache`, train.py:3)"), `root` and `kind` ("python", "autograd", "c++", "cycle").
    Looks at all objects of the interpreter, which takes some 0.2 s for each million; needs no recording.

    ValueError for a tensor without memory on a GPU, OSError if libmemprof_holders.so is not there."""
    from ._holders import ask
    return ask.holders_of(tensor)


def pool_usage(name, blocks, used, *, bytes=0, block_slots=0, used_slots=0, device=-1, settings=None):  # pylint: disable=redefined-builtin
    """How many blocks are in use of a pool that the program divides by itself, such as its KV cache; to be called when
    the number changes. `bytes`: of all blocks; `block_slots`: places in a block, such as one for a token; `used_slots`:
    of the blocks in use. `settings`: what gives the pool its size, {"gpu_memory_utilization": 0.9}. 0 = not known.
    `memprof budget` reports it. Memory of tensors that have the name (memprof_tensor_create) is the pool's."""
    if _pool_usage is not None:
        lines = [str(name)] + ["%s=%s" % setting for setting in (settings or {}).items()]
        _pool_usage(int(device), "\n".join(lines).encode(), int(bytes), int(blocks), int(used), int(block_slots),
                    int(used_slots))


# torch.compile leaves calls of these alone.
snapshot._torchdynamo_disable = holders._torchdynamo_disable = pool_usage._torchdynamo_disable = True


@contextlib.contextmanager
def range(name):  # pylint: disable=redefined-builtin
    """A name for the work of this thread inside the `with` statement. Ranges may be nested."""
    if _push is None:
        yield
        return
    _push(str(name).encode())
    try:
        yield
    finally:
        _pop()


def stats():
    """What was recorded so far, as a dictionary (events, live_bytes, peak_bytes, …), or None.

    Bytes are those requested from the driver: for PyTorch's caching allocator its segments, in use
    or not. The memory of tensors is in torch.cuda.memory_stats() and in the report."""
    if _get_stats is None:
        return None
    found = _Stats(size=ctypes.sizeof(_Stats))
    if _get_stats(ctypes.byref(found)) != 0:
        return None
    return {name: getattr(found, name) for name, _ in _Stats._fields_ if name != "size"}


def recording():
    """True while this process is recorded."""
    found = stats()
    return found is not None and found["recording"] == 1


def available():
    """True if the recorder is in this process (`memprof run`), also before the first call to CUDA begins the log."""
    return _start is not None


def log_path():
    """The log of this process, or None."""
    if _log_path is None:
        return None
    text = ctypes.create_string_buffer(_PATH_BYTES)
    return os.fsdecode(text.value) if _log_path(text, _PATH_BYTES) == 0 else None


def report(json=False, file=None):
    """The report on the recording so far: printed to `file` (default: standard output), or with
    `json` returned as a dictionary. Returns None, with a line on standard error, if it fails."""
    path = log_path()
    if path is None:
        return None
    flush()
    command = _command.path()
    if command is None:
        print("memprof: no memprof command on PATH; afterwards: memprof report " + path,
              file=sys.stderr)
        return None
    done = _command.run(command, ["report", *(["--json"] if json else []), path])
    if done.returncode != 0:
        print(done.stderr, end="", file=sys.stderr)
        return None
    if json:
        return _json.loads(done.stdout)
    print(done.stdout, end="", file=file or sys.stdout)
    return None


from ._profile import Profile as profile, phase, phases  # pylint: disable=wrong-import-position  # It needs the above.
