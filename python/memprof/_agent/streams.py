"""Memory that waits for other streams. `Tensor.record_stream` tells PyTorch that another stream uses a block; PyTorch
then frees the block in its count of allocated bytes at once, but keeps it, "active", until that stream has done its
work.

The method is wrapped, and each call recorded. How much waits is PyTorch's own count. It is asked at these calls, at
steps and at the end of the program, so that it also has what C++ recorded (process groups), whose calls do not pass
the method.
"""

import atexit
import functools
import time

from . import calls, guard

_PAUSE = 100  # times what asking took: at most 1 % of the program's time


class Streams:
    def __init__(self, torch):
        self._cuda = torch.cuda
        self._count = torch._C._cuda_memoryStats  # torch.cuda.memory_stats takes five times as long
        self._devices = set()  # of tensors that other streams used
        self._said = {}
        self._next = 0.0

    def used(self, tensor, stream):
        """`tensor.record_stream(stream)` was called."""
        device = tensor.get_device()
        if device < 0 or not self._cuda.is_initialized():
            return
        handle = getattr(stream, "cuda_stream", None)
        if handle is None:  # a torch.Stream
            handle = self._cuda.Stream(stream_id=stream.stream_id, device_index=stream.device_index,
                                       device_type=stream.device_type).cuda_stream
        try:
            address = tensor.untyped_storage().data_ptr()
        except RuntimeError:  # a tensor without memory of its own, as those of compilers
            return
        if not address or calls.stream_use(device, address, handle) != 0:
            return
        self._devices.add(device)
        if time.perf_counter() >= self._next:
            self._ask_all([device])

    def step(self, ends=False):
        """A step has ended, or the program ends."""
        if guard.off:
            return
        try:
            # Without calls of the method it can only be C++'s: then a part of the steps will do.
            if (self._devices or time.perf_counter() >= self._next or ends) and self._cuda.is_initialized():
                self._ask_all(self._devices | {self._cuda.current_device()})
        except Exception:  # pylint: disable=broad-except
            guard.failed("the count of what waits for streams")

    def _ask_all(self, devices):
        began = time.thread_time()  # what other programs take from the thread is not its cost
        for device in devices:
            self._ask(device)
        self._next = time.perf_counter() + _PAUSE * (time.thread_time() - began)

    def _ask(self, device):
        count = self._count(device)
        if not count:
            return
        active, allocated = count["active_bytes"]["all"], count["allocated_bytes"]["all"]
        blocks = count["active"]["all"]["current"] - count["allocation"]["all"]["current"]
        now = (max(active["current"] - allocated["current"], 0), max(blocks, 0), active["peak"])
        said = self._said.get(device)
        if now == said or (said is None and now[0] == 0 and device not in self._devices):
            return
        if calls.waiting(device, *now) == 0:
            self._said[device] = now


def install(torch):
    """Returns what to call at the end of each step, or None."""
    native = getattr(getattr(torch, "_C", None), "_cuda_memoryStats", None)
    if None in (calls.stream_use, calls.waiting, native):
        return None
    streams = Streams(torch)
    call = torch.Tensor.record_stream

    @functools.wraps(call)
    def record_stream(self, *arguments, **keywords):
        result = call(self, *arguments, **keywords)
        if not guard.off:
            try:
                for stream in (*arguments, *keywords.values()):
                    streams.used(self, stream)
            except Exception:  # pylint: disable=broad-except
                guard.failed("the hook of record_stream")
        return result

    record_stream._torchdynamo_disable = True
    torch.Tensor.record_stream = record_stream
    atexit.register(streams.step, True)
    return streams.step
