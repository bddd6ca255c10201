"""The recorder's functions as the agent calls them: holding the interpreter's lock, which each keeps for
less time than giving it away takes."""

from .. import _library

NOT_RECORDING = 1

push = _library.function("memprof_range_push", hold=True)
pop = _library.function("memprof_range_pop", hold=True)
step = _library.function("memprof_step", hold=True)
tensor_create = _library.function("memprof_tensor_create", hold=True)


def available():
    return None not in (push, pop, step, tensor_create)
