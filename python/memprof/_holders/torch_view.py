"""What PyTorch says about tensors and the graphs of autograd, by functions that no class of the program can change.

Nothing is unpacked: hooks of saved tensors are the program's code.
"""

import contextlib

from .saved_memory import SavedMemory

_MOST_NODES = 200000


# Besides classes and modes of functions, those of operations (torch.utils._python_dispatch).
_GUARDS = ("DisableTorchFunctionSubclass", "_DisableTorchDispatch")
_BY_ROWS, _BY_COLUMNS = ("crow_indices", "col_indices", "values"), ("ccol_indices", "row_indices", "values")
_SPARSE = {"sparse_coo": ("_indices", "_values"), "sparse_csr": _BY_ROWS, "sparse_bsr": _BY_ROWS,
           "sparse_csc": _BY_COLUMNS, "sparse_bsc": _BY_COLUMNS}


class _Layers:
    """torch.func wraps tensors, a layer for each transform; the memory is that of the innermost."""

    def __init__(self, functorch):
        self._hide = getattr(functorch, "is_functorch_wrapped_tensor", lambda tensor: False)
        self._inside = getattr(functorch, "get_unwrapped", None)

    def inside(self, tensor):
        while self._hide(tensor):
            tensor = self._inside(tensor)
        return tensor


class Torch:
    def __init__(self, torch):
        base = torch._C.TensorBase
        self.tensor = base
        self.bare_storage = torch._C.StorageBase  # a storage may be kept without a tensor
        self.saved_tensor = getattr(getattr(torch._C, "_autograd", None), "SavedTensor", None)
        self.node = getattr(getattr(torch._C, "_functions", None), "AccumulateGrad", None)  # one of the classes of nodes
        self.accumulates = self.node
        self._forward = getattr(getattr(torch, "autograd", None), "forward_ad", None)
        self._unpack_dual = getattr(getattr(torch, "_VF", None), "_unpack_dual", None)
        self.function = getattr(torch._C, "_FunctionBase", None)  # nodes that a class in Python defines
        self._guards = [guard for guard in (getattr(torch._C, name, None) for name in _GUARDS) if guard]
        self._layers = _Layers(getattr(torch._C, "_functorch", None))
        self._modes = [(getattr(torch._C, "_len_torch_%s_stack" % kind, lambda: 0),
                        getattr(torch._C, "_get_%s_stack_at" % kind, None)) for kind in ("dispatch", "function")]
        self._is_cuda = base.is_cuda.__get__
        self._is_sparse = base.is_sparse.__get__
        self._layout = base.layout.__get__
        self._members = {getattr(torch, name): members for name, members in _SPARSE.items() if hasattr(torch, name)}
        self._is_leaf = base.is_leaf.__get__
        self._retains = getattr(base, "retains_grad", None)
        self._grad = base.grad.__get__
        self._grad_fn = base.grad_fn.__get__
        self._data_ptr = base.data_ptr
        self._offset = base.storage_offset
        self._item = base.element_size
        self._count = base.numel
        self._get_device = base.get_device
        self._copy_on_write = getattr(torch._C, "_is_cow_tensor", lambda tensor: False)
        self._use_count = getattr(base, "_use_count", lambda tensor: 1)
        self._requires_grad = base.requires_grad.__get__
        self._autocast = getattr(torch, "is_autocast_enabled", lambda: False)
        self._autocast_cache = getattr(torch, "is_autocast_cache_enabled", lambda: False)
        self._snapshot = getattr(getattr(torch, "cuda", None), "memory_snapshot", None)
        self._has_history = getattr(torch._C, "_cuda_isHistoryEnabled", lambda: False)
        self._saved_by_class = {}
        self._memory = SavedMemory()
        self._has_raw_data = hasattr(self.saved_tensor, "data")
        self._implementation = getattr(base, "_cdata", None)

    def no_overrides(self):
        """While it is entered, no class or mode of the program sees what is done with tensors."""
        entered = contextlib.ExitStack()
        for guard in self._guards:
            entered.enter_context(guard())
        return entered

    def entered_modes(self):
        """Ids of the modes that this thread has entered; native code has them."""
        return {id(at(index)) for count, at in self._modes for index in range(count())}

    def parts(self, tensor):
        """(member, (device, address, bytes)) of the memory of a tensor: one with member "", or of a sparse one those
        of its indices and values."""
        tensor = self._layers.inside(tensor)
        try:
            members = self._members.get(self._layout(tensor), ("",))
        except RuntimeError:
            return
        yield from self._tangent(tensor)
        for member in members:
            where = self.storage(getattr(self.tensor, member)(tensor) if member else tensor)
            if where is not None:
                yield (".%s()" % member if member else ""), where

    def _tangent(self, tensor):
        """Of the derivative that goes forward with a tensor, while a level for that is open."""
        level = getattr(self._forward, "_current_level", -1)
        if type(level) is int and level >= 0 and self._unpack_dual is not None:
            tangent = self._unpack_dual(tensor, level)[1]
            where = self.storage(tangent) if tangent is not None else None
            if where is not None:
                yield ".tangent", where

    def storage(self, tensor):
        """(device, address, bytes) of the memory of a tensor on a GPU, or None. The bytes are the tensor's: the
        storage's would need its Python object, which PyTorch then keeps as long as the storage."""
        try:
            if not self._is_cuda(tensor) or self._is_sparse(tensor) or self._copy_on_write(tensor):
                return None
            data, item = self._data_ptr(tensor), self._item(tensor)
            if data == 0:
                return None
            device, address = self._get_device(tensor), data - self._offset(tensor) * item
            if not self._has_raw_data and self._implementation is not None:
                self._memory.learn(self._implementation.__get__(tensor), device, address)
            return device, address, self._count(tensor) * item
        except (RuntimeError, NotImplementedError):  # a tensor without memory of its own
            return None

    def of_bare_storage(self, storage):
        """(device, address, bytes) of a storage on a GPU, or None."""
        kind = self.bare_storage
        try:
            device = kind.device.__get__(storage)
            address = kind.data_ptr(storage) if device.type == "cuda" else 0
            return (device.index, address, kind.nbytes(storage)) if address else None
        except (RuntimeError, NotImplementedError):
            return None

    def blocks(self):
        """[(device, address, bytes in use, bytes requested)] of the blocks that PyTorch's allocator has given out; None if
        it does not tell them, or would tell with them all that happened."""
        try:
            if self._has_history():
                return None
            return [(segment["device"], block["address"], block["size"], block["requested_size"])
                    for segment in self._snapshot() for block in segment["blocks"] if block["state"] == "active_allocated"]
        except Exception:  # pylint: disable=broad-except
            return None

    def native_holds(self, tensor):
        """Whether native code has a handle to a tensor beside that of its Python object."""
        return self._use_count(tensor) > 1

    def may_be_cached_by_autocast(self, tensor):
        """Autocast keeps, where no Python sees it, a cast of each parameter that it met, and by its graph the parameter,
        until the outermost autocast is left."""
        try:
            is_on = self._autocast("cuda")
        except TypeError:  # before PyTorch 2.4
            is_on = self._autocast()
        return is_on and self._autocast_cache() and self._is_leaf(tensor) and self._requires_grad(tensor)

    def graph_of_gradient(self, tensor):
        gradient = self.gradient(tensor)
        return self.graph_of(gradient) if gradient is not None else None

    def gradient(self, tensor):
        """Of a leaf, or of a tensor that was told to keep its own; asked for another's, PyTorch warns the program."""
        try:
            return self._grad(tensor) if self._is_leaf(tensor) or self._retains_gradient(tensor) else None
        except RuntimeError:
            return None

    def _retains_gradient(self, tensor):
        return self._retains is not None and self._retains.__get__(tensor)

    def accumulated(self, node):
        """The leaf whose gradient the node adds to, and which it keeps alive; None for other nodes."""
        return node.variable if type(node) is self.accumulates else None

    def graph_of(self, tensor):
        """The node of autograd that made a tensor, or None."""
        try:
            return self._grad_fn(tensor)
        except RuntimeError:  # a view that was changed in a forbidden way
            return None

    def nodes(self, root, known):
        """The nodes of a graph that are not in `known`, a dictionary by id that they are added to."""
        waiting = [root]
        while waiting and len(known) < _MOST_NODES:
            node = waiting.pop()
            if node is None or id(node) in known:
                continue
            known[id(node)] = node
            yield node
            waiting.extend(following for following, _ in node.next_functions)

    def saved(self, node):
        """(memory, objects) of each that a node saves for the backward pass. The memory is (device, address, bytes)
        or None; what a hook packed instead is the program's object, which the node keeps with the hook that unpacks."""
        for name in self._saved_names(type(node)):
            try:
                value = getattr(node, "_raw_saved_" + name)
            except RuntimeError:  # the backward pass has freed it
                continue
            for each in value if type(value) is tuple else (value,):
                yield self.of_saved(each)

    def of_saved(self, saved):
        if not hasattr(type(saved), "data"):
            where = self._memory.where(saved)
            return where and where + (0,), ()
        data = saved.data
        if issubclass(type(data), self.tensor):
            return self.storage(self._layers.inside(data)), ()
        return None, (data, getattr(saved, "unpack_hook", None))

    def _saved_names(self, kind):
        names = self._saved_by_class.get(kind)
        if names is None:
            begin = "_raw_saved_"
            names = self._saved_by_class[kind] = [
                name[len(begin):] for each in kind.__mro__ for name in each.__dict__ if name.startswith(begin)]
        return names
