"""One look at all objects of the interpreter: which variables keep which tensors alive.

The library libmemprof_holders.so makes the look itself, in one call that keeps the interpreter's lock; it takes
no reference and runs no code of the program. What it returns are references to the objects on the paths, which
the caller gives back as soon as it has named them.
"""

import _thread
import array
import atexit
import ctypes
import gc
import os
import sys
import types

_HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "")
_OWN = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")
_LIBRARIES = (os.path.join(os.path.dirname(os.path.abspath(os.__file__)), ""), "<frozen")
_PACKAGES = (os.sep + "site-packages" + os.sep, os.sep + "dist-packages" + os.sep)

# At exit the main module has forgotten its file.
_MAIN = getattr(sys.modules.get("__main__"), "__file__", None)

_FIRST, _LAST = (3, 9), (3, 14)

_BACKWARD_PASS = "_engine_run_backward"  # torch/autograd/graph.py, since PyTorch 2.3
_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: made by a program, not by a library in C
_ARRAY_BYTES = 72  # of PyArrayObject_fields

# How an object is alive (holders/src/search.h).
USER, OTHERS, UNSEEN, GARBAGE = 1, 2, 3, 4


class _Arguments(ctypes.Structure):
    _fields_ = [(name, ctypes.py_object) for name in ("list_all", "count_frozen", "frames", "counts", "closed", "user", "others", "targets",
                                                 "kin", "leaves", "names", "key_of_class", "key_of_function", "arrays")]


def unsupported():
    """Why objects of this Python cannot be looked at, or None."""
    version = "%d.%d" % sys.version_info[:2]
    if sys.implementation.name != "cpython":
        return sys.implementation.name
    if not _FIRST <= sys.version_info[:2] <= _LAST:
        return "CPython " + version
    if "t" in sys.abiflags or hasattr(sys, "getobjects"):  # no GIL, or Py_TRACE_REFS: other objects
        return "this build of CPython " + version
    return None


class Library:
    """The functions of libmemprof_holders.so. OSError without the library, or for a Python that it does not know."""

    def __init__(self, path):
        if unsupported() is not None:
            raise OSError("holders are not known of " + unsupported())
        library = ctypes.PyDLL(path)
        self._look, self._slot = library.memprof_look, library.memprof_frame_slot
        self.call_in_main = library.memprof_call_in_main  # 0 unless too many calls wait
        self.call_in_main.argtypes = [ctypes.py_object]
        self._look.restype = ctypes.py_object
        self._look.argtypes = [ctypes.POINTER(_Arguments), ctypes.c_int, ctypes.c_longlong]
        self._slot.restype = ctypes.c_uint64
        self._slot.argtypes = [ctypes.py_object, ctypes.c_int64, ctypes.c_int, ctypes.c_longlong]

        self._exit_callbacks = library.memprof_exit_callbacks
        self._exit_callbacks.restype = ctypes.py_object
        self._exit_callbacks.argtypes = [ctypes.py_object, ctypes.py_object, ctypes.c_uint, ctypes.c_int]
        self.known_at_exit = None  # a function that was registered with atexit

    def exit_callbacks(self):
        """[(function, arguments, keywords or None)] of what atexit will call."""
        if self.known_at_exit is None or sys.version_info >= (3, 14):
            return []
        return self._exit_callbacks(atexit, self.known_at_exit, atexit._ncallbacks(), sys.version_info[1])

    def has_exit_callbacks(self, thing):
        """Whether it is the list of them, from CPython 3.14 on."""
        return type(thing) is list and self.known_at_exit is not None and len(thing) == atexit._ncallbacks() and \
            any(type(entry) is tuple and len(entry) == 3 and entry[0] is self.known_at_exit for entry in thing)

    def look(self, arguments):
        return self._look(ctypes.byref(arguments), sys.version_info[1], types.FrameType.__basicsize__)

    def slot(self, frame, index):
        """The address of the object in a place of a frame's variables; 0 if there is none."""
        return self._slot(frame, index, sys.version_info[1], types.FrameType.__basicsize__)


def of_user(path):
    """Whether a file is the user's, not one of a library."""
    return not (path.startswith(_LIBRARIES) or path.startswith(_OWN) or any(part in path for part in _PACKAGES)
                or _is_installed(path))


_installed = {}  # by folder: the names of packages and modules that an installer put there


def _is_installed(path):
    """Whether an installer's list has the package of a file, as those of `pip install --target DIR` do."""
    folders = [folder for folder in list(sys.path) if type(folder) is str and path.startswith(os.path.join(folder, ""))]
    for folder in folders:
        names = _installed.get(folder)
        if names is None:
            names = _installed[folder] = set(_names_installed_in(folder))
        if path[len(os.path.join(folder, "")):].split(os.sep)[0] in names:
            return True
    return False


def _names_installed_in(folder):
    try:
        for entry in os.listdir(folder):
            path = os.path.join(folder, entry, "RECORD")
            if entry.endswith(".dist-info") and os.path.isfile(path):
                with open(path, encoding="utf-8", errors="replace") as record:
                    for line in record:
                        name = line.split(",")[0].split("/")[0]
                        if name not in ("", "..") and not name.endswith(".dist-info"):
                            yield name
    except OSError:  # no folder, or no list: it is taken for the user's
        pass


def variables_of(code):
    """Names of the variables of a code object, in the order of their places in a frame."""
    cells = code.co_cellvars
    if sys.version_info >= (3, 11):  # an argument in a cell has one place
        arguments = set(code.co_varnames)
        cells = tuple(name for name in cells if name not in arguments)
    return code.co_varnames + cells + code.co_freevars


class Look:
    """What was found. `objects` are the objects on paths, each once; `parents[i]` is the place of the object that
    refers to objects[i] on the path from the root, -1 for a root; `reach[i]` is by which kind of root.
    `targets` and `referrers` are pairs (place, references that no object has), (place, place of what refers to it).
    """

    def __init__(self, result, frames, modules):
        self.objects, parents, self.reach, targets, referrers, (self.examined, self.edges, self.bytes) = result
        self.parents = array.array("i", parents)
        flat = array.array("i", targets)
        self.targets = list(zip(flat[::2], flat[1::2]))
        flat = array.array("i", referrers)
        self.referrers = list(zip(flat[::2], flat[1::2]))
        self.frames = {id(frame) for frame in frames}
        self.modules = modules  # by id of a namespace: (name, file or None)

    def path(self, place):
        """Places from the root to `place`. Garbage has no root: there the path begins in a cycle, with the object
        at which it ends again."""
        path, seen = [], set()
        while place >= 0:
            path.append(place)
            if place in seen:
                break
            seen.add(place)
            place = self.parents[place]
        path.reverse()
        return path


def _running_frames():
    """Of all threads, those of the user and others; without the frames of this package. The caller first: its variables
    hold what the arguments of the called ones only borrow."""
    user, others = [], []
    for frame in sys._current_frames().values():
        stack = []
        while frame is not None:
            if not frame.f_code.co_filename.startswith(_OWN):  # a list with the frame that has it would be a cycle
                stack.append(frame)
            frame = frame.f_back
        for frame in reversed(stack):
            (user if of_user(frame.f_code.co_filename) else others).append(frame)
    return user, others


def interrupted():
    """In a function that the main thread calls for memprof_call_in_main(): the frame in which it did."""
    frame = sys._getframe()
    while frame is not None and frame.f_code.co_filename.startswith(_HERE):
        frame = frame.f_back
    return frame


def is_of_program(error):
    """Whether an error that came out of this package was raised by code of the program, which a signal, or the end of
    an object, has called within it."""
    at = error.__traceback__
    while at is not None:
        if not at.tb_frame.f_code.co_filename.startswith((_OWN,) + _LIBRARIES):
            return True
        at = at.tb_next
    return False


def is_traced(torch):
    """Whether torch.jit.trace records what this thread asks tensors, their sizes too: a look would become part of the
    program's graph."""
    state = getattr(torch._C, "_get_tracing_state", None)
    return state is not None and state() is not None


def in_backward_pass(interrupted=None):
    """Whether any thread is within a backward pass of PyTorch: it changes graphs and gradients without the
    interpreter's lock. `interrupted`: the frame of this thread that the interpreter executed when it made a waiting
    call; it is not waiting for a function in C."""
    for thread, frame in sys._current_frames().items():
        if interrupted is not None and thread == _thread.get_ident():
            frame = interrupted.f_back
        while frame is not None:
            if frame.f_code.co_name == _BACKWARD_PASS:
                return True
            frame = frame.f_back
    return False


def _modules():
    """[(module, namespace, name, file or None)] of all loaded modules."""
    found = []
    for module in list(sys.modules.values()):
        if issubclass(type(module), types.ModuleType):
            namespace = _namespace(module)
            name, file = namespace.get("__name__"), namespace.get("__file__")
            if name == "__main__" and file is None:
                file = _MAIN
            found.append((module, namespace, name if type(name) is str else "?", file if type(file) is str else None))
    return found


_namespace = types.ModuleType.__dict__["__dict__"].__get__


def _arrays():
    """numpy.ndarray, if it is loaded."""
    numpy = sys.modules.get("numpy")
    kind = _namespace(numpy).get("ndarray") if type(numpy) is types.ModuleType else None
    mine = type(kind) is type and kind.__flags__ & _HEAP_TYPE == 0 and kind.__basicsize__ >= _ARRAY_BYTES
    return kind if mine and kind.__name__ == "ndarray" else None


def take(library, *targets, leaves=(), kin=None):
    """A look at all objects of these classes and what keeps them. `leaves`: classes whose objects are no containers for
    the collector, and are seen nevertheless. `kin`: one of several classes of C that have no base in common, but the
    function by which the collector sees their objects."""
    user_frames, other_frames = _running_frames()
    frames = user_frames + other_frames
    counts = [len(variables_of(frame.f_code)) for frame in frames]
    modules = _modules()
    user, others, names = [], [], []
    for _, namespace, name, file in modules:
        if name == "__main__" or (file is not None and of_user(file)):
            user.append(namespace)
            names.append(name)
        else:
            others.append(namespace)
    arrays = _arrays()
    closed = [each for module, namespace, _, _ in modules for each in (module, namespace)]
    arguments = _Arguments(gc.get_objects, gc.get_freeze_count, frames, counts, closed, user + user_frames, others + other_frames, targets, kin,
                           leaves + (arrays,), frozenset(names), "__module__", "__name__", arrays)
    return Look(library.look(arguments), frames, {id(namespace): (name, file) for _, namespace, name, file in modules})
