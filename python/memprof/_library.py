"""The recorder's C functions (memprof.h), if it was preloaded or linked."""

import ctypes

_NAMES = ctypes.c_char_p
_ARGUMENTS = {
    "memprof_start": (),
    "memprof_stop": (),
    "memprof_flush": (),
    "memprof_step": (ctypes.c_uint64,),
    "memprof_snapshot": (_NAMES,),
    "memprof_range_push": (_NAMES,),
    "memprof_range_pop": (),
    "memprof_get_stats": (ctypes.c_void_p,),
    "memprof_log_path": (_NAMES, ctypes.c_size_t),
    "memprof_tensor_create": (ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, _NAMES, _NAMES,
                              ctypes.c_int, ctypes.c_void_p),
    "memprof_tensor_destroy": (ctypes.c_int, ctypes.c_void_p),
    "memprof_pool_create": (ctypes.c_uint64, ctypes.c_uint64),
    "memprof_pool_begin": (ctypes.c_int, ctypes.c_uint64, ctypes.c_int),
    "memprof_pool_end": (ctypes.c_int, ctypes.c_uint64),
    "memprof_stream_use": (ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p),
    "memprof_waiting": (ctypes.c_int, ctypes.c_size_t, ctypes.c_uint64, ctypes.c_size_t),
    "memprof_held": (ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, _NAMES),
    "memprof_holders": (ctypes.c_size_t, ctypes.c_uint64, ctypes.c_uint64),
    "memprof_present": (ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t,
                        ctypes.c_void_p, ctypes.c_uint64, _NAMES),
    "memprof_pool_usage": (ctypes.c_int, _NAMES, ctypes.c_size_t) + (ctypes.c_uint32,) * 4,
}

_path = None  # of the recorder, if it is not found in the program's own scope


def use(path):
    """The recorder was loaded from `path`, so that only we find it."""
    global _path  # pylint: disable=global-statement
    _path = path


def function(name, hold=False):
    """A function of the recorder, or None without a recorder. With `hold` it keeps the interpreter's
    lock: for short calls that are made often."""
    try:
        found = getattr((ctypes.PyDLL if hold else ctypes.CDLL)(_path), name)
    except (AttributeError, OSError):
        return None
    found.argtypes = _ARGUMENTS[name]
    found.restype = ctypes.c_int
    return found
