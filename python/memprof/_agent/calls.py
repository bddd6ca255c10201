"""The recorder's functions for the agent. They keep the interpreter's lock, because they take less time than
releasing it. A step releases it: it queries the driver for the free memory, and the driver may wait for work
that another thread of Python has to enqueue."""

import ctypes

from .. import _library

NOT_RECORDING = 1

push = pop = step = pool_usage = start = log_path = tensor_create = present = None
pool_create = pool_begin = pool_end = stream_use = waiting = None


def bind():
    """Looks the functions up: again if the library was loaded later."""
    global push, pop, step, pool_usage, start, log_path, tensor_create, present  # pylint: disable=global-statement
    global pool_create, pool_begin, pool_end, stream_use, waiting  # pylint: disable=global-statement
    push = _library.function("memprof_range_push", hold=True)
    pop = _library.function("memprof_range_pop", hold=True)
    step = _library.function("memprof_step")
    pool_usage = _library.function("memprof_pool_usage", hold=True)
    start = _library.function("memprof_start")
    log_path = _library.function("memprof_log_path")
    tensor_create = _library.function("memprof_tensor_create", hold=True)
    present = _library.function("memprof_present", hold=True)
    pool_create = _library.function("memprof_pool_create", hold=True)
    pool_begin = _library.function("memprof_pool_begin", hold=True)
    pool_end = _library.function("memprof_pool_end", hold=True)
    stream_use = _library.function("memprof_stream_use", hold=True)
    waiting = _library.function("memprof_waiting", hold=True)


bind()


def available():
    return None not in (push, pop, step, tensor_create)
