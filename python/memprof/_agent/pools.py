"""Private pools of PyTorch's allocator: where they were made, and from which one a thread allocates.

The allocator does not report the pool of a block, and nothing native can be asked while it holds its lock. So the
agent wraps the functions with which PyTorch chooses a pool: those of `torch.cuda.use_mem_pool` and Inductor's graph
trees, and the begin and end of a capture. They are called a few times in a step at most.
"""

import functools
import itertools

from . import calls, guard

# Of torch._C; older releases have other ones. What the filters of a release say beyond the calling thread (all
# threads, the current stream) is not followed.
_BEGIN = ("_cuda_beginAllocateCurrentThreadToPool", "_cuda_beginAllocateToPool",
          "_cuda_beginAllocateCurrentStreamToPool")
_END = ("_cuda_endAllocateToPool", "_cuda_endAllocateCurrentStreamToPool")

_made = set()  # numbers of the pools whose making is in the log
_captures = {}  # by id of the graph: the number by which the pool of its capture is reported
_count = itertools.count(1)
_UNKNOWN = 1 << 55  # a capture with a new pool learns its number at its end: until then, this and a count


def _number(pool):
    """Both of PyTorch's numbers in one, as the log has them."""
    first, second = getattr(pool, "id", pool)
    return first << 32 | second


def _make(number, also=0):
    """A pool that was made before recording began is reported where it is first chosen."""
    if (also or number not in _made) and calls.pool_create(number, also) == 0:
        _made.add(number)


def _after(call, report):
    """`call`, and then `report` with the same arguments."""
    @functools.wraps(call)
    def wrapped(*arguments, **keywords):
        result = call(*arguments, **keywords)
        try:
            if not guard.off:
                report(*arguments, **keywords)
        except Exception:  # pylint: disable=broad-except
            guard.failed("a memory pool's hook")
        return result
    wrapped._torchdynamo_disable = True  # compilers break their graphs here, as they do at the original
    return wrapped


def _begin(device, pool, *_):
    number = _number(pool)
    _make(number)
    calls.pool_begin(int(device), number, 0)


def _end(device, pool, *_):
    calls.pool_end(int(device), _number(pool))


def _begin_capture(device, graph, pool=None, *_, **__):
    if pool is None:
        number = _UNKNOWN + (next(_count) << 32)
    else:
        number = _number(pool)
        _make(number)
    _captures[id(graph)] = number
    calls.pool_begin(device(), number, 1)


def _end_capture(device, graph, *_, **__):
    number = _captures.pop(id(graph), None)
    if number is None:
        return
    calls.pool_end(device(), number)
    if number >= _UNKNOWN:
        _make(_number(graph.pool()), number)


def install(torch):
    if None in (calls.pool_create, calls.pool_begin, calls.pool_end):
        return
    native, memory = torch._C, torch.cuda.memory
    for names, report in ((_BEGIN, _begin), (_END, _end)):
        for name in names:
            call = getattr(native, name, None)
            if callable(call) and not isinstance(call, type):  # types stand for what a build without CUDA lacks
                wrapped = _after(call, report)
                for place in (native, memory):
                    if getattr(place, name, None) is call:
                        setattr(place, name, wrapped)
    pool = getattr(memory, "MemPool", None)
    if pool is not None:
        pool.__init__ = _after(pool.__init__, lambda self, *_, **__: _make(_number(self)))
    graph = torch.cuda.CUDAGraph
    device = torch.cuda.current_device
    graph.capture_begin = _after(graph.capture_begin, functools.partial(_begin_capture, device))
    graph.capture_end = _after(graph.capture_end, functools.partial(_end_capture, device))
