"""A torch of a page: what the finder asks PyTorch's tensors, storages and nodes."""

import sys
import types


class TensorBase:
    """As torch._C.TensorBase as far as it is used; two tensors with the same address share a storage."""

    state = {"address": 0, "offset": 0, "cuda": False, "count": 0, "grad": None, "grad_fn": None, "uses": 1, "retains": False}

    def __init__(self, address, offset=0, cuda=True, count=256):
        self.state = {"address": address, "offset": offset, "cuda": cuda, "count": count, "grad": None, "grad_fn": None,
                      "uses": 1, "retains": False}

    requires_grad = property(lambda self: self.state["grad_fn"] is None)
    is_cuda = property(lambda self: self.state["cuda"])
    is_sparse = property(lambda self: bool(self.state.get("values")))
    layout = property(lambda self: "coo" if self.state.get("values") else "strided")
    is_leaf = property(lambda self: self.state["grad_fn"] is None)
    retains_grad = property(lambda self: self.state["retains"])
    grad = property(lambda self: Hidden.shown(self.state["grad"]))
    grad_fn = property(lambda self: self.state["grad_fn"])

    def data_ptr(self):
        return self.state["address"] and self.state["address"] + 4 * self.state["offset"]

    def storage_offset(self):
        return self.state["offset"]

    def element_size(self):
        return 4

    def numel(self):
        return self.state["count"]

    def get_device(self):
        return 1

    def _indices(self):
        return self.state["indices"]

    def _values(self):
        return self.state["values"]

    def _use_count(self):
        return self.state["uses"]


class Saved:
    """As torch._C._autograd.SavedTensor; with `unpack`, the data is what a hook packed."""

    def __init__(self, data, unpack=None):
        self._data, self._unpack = data, unpack

    data = property(lambda self: Hidden.shown(self._data))
    unpack_hook = property(lambda self: Hidden.shown(self._unpack))


class Node:
    """A node of a graph that saves some tensors."""

    def __init__(self, *saved, following=()):
        self._all = saved
        self.next_functions = tuple((node, 0) for node in following)

    @property
    def _raw_saved_tensors(self):
        return tuple(each if type(each) is Saved else Saved(each) for each in self._all)


class MulBackward0(Node):
    pass


class AccumulateGrad(Node):
    def __init__(self, variable):
        super().__init__()
        self._variable = variable

    variable = property(lambda self: Hidden.shown(self._variable))


class FreedBackward0(Node):
    @property
    def _raw_saved_tensors(self):
        raise RuntimeError("the backward pass has freed it")


class StorageBase:
    def __init__(self, address, kind="cuda"):
        self._address = address
        self._device = types.SimpleNamespace(type=kind, index=1)

    device = property(lambda self: self._device)

    def data_ptr(self):
        return self._address

    def nbytes(self):
        return 1024


class Future:
    def __init__(self, *value, error=None):
        self._state = {"value": value, "error": error}

    def done(self):
        return bool(self._state["value"] or self._state["error"])

    def value(self):
        if self._state["error"]:
            raise self._state["error"]
        return Hidden.shown(self._state["value"][0])


class Hidden:
    """A value that only native code has: the collector does not see it here."""
    values = {}

    def __init__(self, make):
        Hidden.values[id(self)] = make

    @staticmethod
    def shown(value):
        return Hidden.values[id(value)]() if type(value) is Hidden else value


class Constant:
    def __init__(self, value, kind="t"):
        self._value, self._kind = value, kind

    def hasAttribute(self, name):
        return name == "value"

    def kindOf(self, _):
        return self._kind

    def t(self, _):
        return Hidden.shown(self._value)


class Graph:
    def __init__(self, *constants):
        self._constants = constants

    def findAllNodes(self, kind):
        return self._constants if kind == "prim::Constant" else ()


class ScriptFunction:
    def __init__(self, graph):
        self._graph = graph

    graph = property(lambda self: self._graph)


class NativeModule:
    """As torch._C.ScriptModule."""

    def __init__(self, parameters=(), buffers=(), attributes=(), graph=Graph()):
        self.parts = {"parameters": parameters, "buffers": buffers}
        self.attributes, self._graph = dict(attributes), graph

    def _method_names(self):
        return ["forward"]

    def _get_method(self, _):
        return ScriptFunction(self._graph)

    def hasattr(self, name):
        return name in self.attributes

    def getattr(self, name):
        return Hidden.shown(self.attributes[name])


class ScriptDict:
    def __init__(self, **entries):
        self._entries = entries

    def items(self):
        return [(name, Hidden.shown(value)) for name, value in self._entries.items()]


class ScriptList(list):
    def __iter__(self):
        return (Hidden.shown(value) for value in list.__iter__(self))


class Work:
    def __init__(self, *results):
        self._results = results

    def result(self):
        if not self._results:
            raise RuntimeError("not completed")
        return [Hidden.shown(each) for each in self._results]


class Guard:
    """As torch._C._DisableTorchDispatch."""
    entered = 0

    def __enter__(self):
        Guard.entered += 1

    def __exit__(self, *_):
        Guard.entered -= 1


MODES = []  # a stack
AUTOCAST = []  # device types


class ConcreteModuleType:
    def __init__(self, **kinds):
        self._kinds = kinds

    def get_attributes(self):
        return {name: (types.SimpleNamespace(annotation_str=kind), False) for name, kind in self._kinds.items()}


class ScriptModule:
    """As torch.jit.ScriptModule."""

    def __init__(self, native, concrete=None):
        self._c, self._concrete_type = native, concrete


def _entries(part):
    return lambda native: {name: Hidden.shown(value) for name, value in native.parts[part]}


TORCH = types.ModuleType("torch")
TORCH.is_autocast_enabled = lambda kind: kind in AUTOCAST
TORCH.is_autocast_cache_enabled = lambda: True
TORCH._C = types.SimpleNamespace(
    TensorBase=TensorBase, StorageBase=StorageBase, Future=Future, ScriptFunction=ScriptFunction, ScriptModule=NativeModule,
    ConcreteModuleType=ConcreteModuleType, ScriptDict=ScriptDict, ScriptList=ScriptList,
    _distributed_c10d=types.SimpleNamespace(Work=Work), _autograd=types.SimpleNamespace(SavedTensor=Saved),
    _DisableTorchDispatch=Guard, _len_torch_dispatch_stack=lambda: len(MODES),
    _get_dispatch_stack_at=lambda index: MODES[index], _functorch=types.SimpleNamespace(
        is_functorch_wrapped_tensor=lambda tensor: "inside" in tensor.state,
        get_unwrapped=lambda tensor: Hidden.shown(tensor.state["inside"])), ParameterDict=_entries("parameters"), BufferDict=_entries("buffers"))
TORCH.sparse_coo = "coo"
TORCH.jit = types.SimpleNamespace(ScriptModule=ScriptModule)
sys.modules["torch"] = TORCH
