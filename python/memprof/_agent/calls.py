"""The recorder's functions as the agent calls them: holding the interpreter's lock, which each keeps for
less time than giving it away takes. Not so a step: it asks the driver for its free memory, and a driver may
keep its caller waiting for work that another thread of Python has to give it."""

from .. import _library

NOT_RECORDING = 1

push = _library.function("memprof_range_push", hold=True)
pop = _library.function("memprof_range_pop", hold=True)
step = _library.function("memprof_step")
tensor_create = _library.function("memprof_tensor_create", hold=True)


def available():
    return None not in (push, pop, step, tensor_create)
