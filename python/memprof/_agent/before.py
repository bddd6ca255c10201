"""What PyTorch's allocator held before recording began, from its own snapshot."""

from . import calls

_LINEAR, _SEGMENT, _BLOCK = 1, 16, 17  # layers of the log
_MOST_FRAMES = 64


def report(torch):
    """Reports each segment and each block that is in use, with its stack where PyTorch's own history was on. A block
    that waits for other streams is free by PyTorch's own count."""
    if calls.present is None or not torch.cuda.is_initialized():
        return
    for segment in _segments(torch):
        device, address, stream = segment["device"], segment["address"], segment["stream"]
        size = segment["total_size"]
        pool = segment.get("segment_pool_id", (0, 0))
        stack = _stack(segment)
        if not segment.get("is_expandable", False):
            calls.present(device, _LINEAR, address, size, size, None, 0, stack)
        calls.present(device, _SEGMENT, address, size, size, stream, pool[0] << 32 | pool[1], stack)
        for block in segment["blocks"]:
            if block["state"] == "active_allocated":
                calls.present(device, _BLOCK, address, block["size"], block.get("requested_size", 0), stream, 0,
                              _stack(block))
            address += block["size"]


def _stack(memory):
    """As memprof_present wants it."""
    frames = memory.get("frames") or ()
    return "\n".join("%s (%s:%s)" % (frame["name"], frame["filename"], frame["line"])
                     for frame in frames[:_MOST_FRAMES]).encode("utf-8", "replace")


def _segments(torch):
    snapshot = torch._C._cuda_memorySnapshot  # pylint: disable=protected-access
    try:
        return snapshot(None)["segments"]
    except TypeError:  # of older releases, it takes no argument
        return snapshot()["segments"]
