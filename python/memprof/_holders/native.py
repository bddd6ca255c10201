"""What objects of native code hold, as far as Python may ask them: modules of TorchScript, futures, capsules of DLPack.

Asked are functions of PyTorch alone, and memory that the object keeps; no code of the program runs.
"""

import _socket
import _thread
import ctypes
import threading

from . import words

_MOST_DEPTH = 3  # of lists in lists, of a value


class _DLTensor(ctypes.Structure):
    """dlpack.h; the same in all versions."""
    _fields_ = [("data", ctypes.c_uint64), ("device_type", ctypes.c_int32), ("device", ctypes.c_int32),
                ("rank", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.c_void_p), ("offset", ctypes.c_uint64)]


# By the name of a capsule that nobody took yet: where its tensor begins.
_CAPSULES = {b"dltensor": 0, b"dltensor_versioned": 32}
_DL_CUDA, _DL_CUDA_MANAGED = 2, 13

_capsule_name = ctypes.pythonapi.PyCapsule_GetName
_capsule_name.restype = ctypes.c_char_p
_capsule_name.argtypes = [ctypes.py_object]
_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype = ctypes.c_void_p
_capsule_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_CAPSULE = type(_socket.CAPI)


def _capsule_memory(capsule):
    """(device, address, bytes) of a tensor on a GPU, or None."""
    name = _capsule_name(capsule)
    if name not in _CAPSULES:
        return None
    tensor = _DLTensor.from_address(_capsule_pointer(capsule, name) + _CAPSULES[name])
    if tensor.device_type not in (_DL_CUDA, _DL_CUDA_MANAGED) or not tensor.data or tensor.rank < 0:
        return None
    count = 1
    for size in tensor.shape[:tensor.rank]:
        count *= size
    return tensor.device, tensor.data + tensor.offset, count * tensor.bits * tensor.lanes // 8


class Native:
    """`view`: torch_view.Torch."""

    def __init__(self, torch, view):
        self._c = torch._C
        self._tensor, self._view = view.tensor, view
        self._saved = view.saved_tensor
        self._module = getattr(getattr(torch, "jit", None), "ScriptModule", None)
        self._function = getattr(torch._C, "ScriptFunction", None)
        self._future = getattr(torch._C, "Future", None)
        self._dict, self._list = getattr(torch._C, "ScriptDict", None), getattr(torch._C, "ScriptList", None)
        self._work = getattr(getattr(torch._C, "_distributed_c10d", None), "Work", None)
        self.leaves = tuple(kind for kind in (self._future, self._work, self._dict, self._list, self._saved, _CAPSULE)
                            if kind)
        self.kinds = tuple(kind for kind in (self._module, self._function) if kind) + self.leaves

    def held_by(self, thing):
        """Yields (member, container, memory): ".weight", "", (0, 0x7f…, 4096); ".kept[…]", "list", …; member "" if it is the object itself."""
        kind = type(thing)
        if kind is _CAPSULE:
            memory = _capsule_memory(thing)
            if memory is not None:
                yield "", "", memory
        elif kind is self._saved:
            memory, _ = self._view.of_saved(thing)
            if memory is not None:
                yield "", "", memory
        elif kind is self._dict or kind is self._list:
            if _alone():
                yield from self._within(dict(thing.items()) if kind is self._dict else list(thing), "")
        elif self._work is not None and issubclass(kind, self._work):
            yield from self._of_value(lambda: self._work.result(thing), ".result()")
        elif self._future is not None and issubclass(kind, self._future):
            if self._future.done(thing):
                yield from self._of_value(lambda: self._future.value(thing), ".value()")
        elif self._module is not None and issubclass(kind, self._module):
            yield from self._of_module(thing)
        elif self._function is not None and issubclass(kind, self._function):
            yield from self._constants(self._function.graph.__get__(thing), "")

    def _of_value(self, ask, member):
        try:
            value = ask()
        except KeyboardInterrupt:
            raise
        except BaseException:  # pylint: disable=broad-except
            return  # a failed one raises what it failed with
        yield from self._within(value, member)

    def _of_module(self, module):
        own = words.instance_dict(module) or {}
        native, concrete = dict.get(own, "_c"), dict.get(own, "_concrete_type")
        if type(native) is not self._c.ScriptModule:
            return
        for entries in (self._c.ParameterDict(native), self._c.BufferDict(native)):
            for name, tensor in entries.items():
                yield from self._within(tensor, "." + name)
        for name in native._method_names():
            yield from self._constants(native._get_method(name).graph, "." + name)
        if type(concrete) is getattr(self._c, "ConcreteModuleType", None) and _alone():
            for name, (kind, _) in concrete.get_attributes().items():
                if "Tensor" in kind.annotation_str and native.hasattr(name):
                    yield from self._within(native.getattr(name), "." + name)

    def _constants(self, graph, member):
        """Tensors that were in the scope of what was traced, or all weights of a frozen module."""
        for node in graph.findAllNodes("prim::Constant"):
            if node.hasAttribute("value") and node.kindOf("value") == "t":
                yield from self._within(node.t("value"), member + ".graph")

    def _within(self, value, member, container="", depth=0):
        if issubclass(type(value), self._tensor):
            memory = self._view.storage(value)
            if memory is not None:
                yield member, container, memory
        elif depth < _MOST_DEPTH and type(value) in (list, tuple, dict):
            for each in list(value.values() if type(value) is dict else value):
                yield from self._within(each, member + "[…]", type(value).__name__, depth + 1)


def _alone():
    """Whether no other thread may be within a module of TorchScript, which runs without the interpreter's lock and may
    change the list that is being read."""
    return _thread.get_ident() == threading.main_thread().ident and len(threading.enumerate()) == 1
