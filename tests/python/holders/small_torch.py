"""A torch of a page: what the finder asks PyTorch's tensors, storages and nodes."""

import sys
import types


class TensorBase:
    """As torch._C.TensorBase as far as it is used; two tensors with the same address share a storage."""

    state = {"address": 0, "offset": 0, "cuda": False, "count": 0, "grad": None, "grad_fn": None, "uses": 1}

    def __init__(self, address, offset=0, cuda=True, count=256):
        self.state = {"address": address, "offset": offset, "cuda": cuda, "count": count, "grad": None, "grad_fn": None,
                      "uses": 1}

    is_cuda = property(lambda self: self.state["cuda"])
    is_sparse = property(lambda self: False)
    is_leaf = property(lambda self: self.state["grad_fn"] is None)
    grad = property(lambda self: self.state["grad"])
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

    def _use_count(self):
        return self.state["uses"]


class Saved:
    def __init__(self, data):
        self._data = data

    data = property(lambda self: self._data)


class Node:
    """A node of a graph that saves some tensors."""

    def __init__(self, *saved, following=()):
        self._all = saved
        self.next_functions = tuple((node, 0) for node in following)

    @property
    def _raw_saved_tensors(self):
        return tuple(Saved(each) for each in self._all)


class MulBackward0(Node):
    pass


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


TORCH = types.ModuleType("torch")
TORCH._C = types.SimpleNamespace(TensorBase=TensorBase, StorageBase=StorageBase)
sys.modules["torch"] = TORCH
