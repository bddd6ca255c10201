"""Names of tensors: parameters and buffers when their model first runs, gradients when they are complete,
optimizer state when the optimizer has created it.

A name ends with the memory of its tensor, so nothing has to be reported at the end of a tensor.
"""

import ctypes
import weakref

from . import calls, guard

# For the readers, tensors that are named within this range are parameters (analysis/symbols/module_paths.h).
_PARAMETERS = b"memprof: parameters"
_MOST_EXTENTS = 16  # MEMPROF_MAX_RANK
_MOST_INPUTS = 8
_MOST_RESULTS = 64

_dtypes = {}


def _dtype(dtype):
    """b"bfloat16"."""
    known = _dtypes.get(dtype)
    if known is None:
        known = _dtypes[dtype] = str(dtype).rpartition(".")[2].encode()
    return known


def _text(name):
    return name.encode("utf-8", "replace").replace(b"\0", b"")


def _extents(shape):
    shape = tuple(shape)[:_MOST_EXTENTS]
    return len(shape), (ctypes.c_int64 * len(shape))(*shape)


def _address(tensor):
    """Of a tensor's memory; 0 without memory of its own, as the wrappers of torch.func."""
    try:
        return tensor.data_ptr()
    except RuntimeError:
        return 0


def say(text, tensor):
    """Reports the name of a tensor's memory, if it is on a GPU. False if nothing is recorded: the caller then
    tries again later."""
    to_local = getattr(tensor, "to_local", None)  # the local part of a distributed tensor
    tensor = to_local() if to_local is not None else tensor
    if not tensor.is_cuda or tensor.is_sparse or tensor.numel() == 0:
        return True
    address = _address(tensor)
    if address == 0:
        return True
    # A view may skip elements; its memory is from its first element to its last.
    extent = 1 + sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride()))
    status = calls.tensor_create(tensor.device.index, address, extent * tensor.element_size(),
                                 text, _dtype(tensor.dtype), *_extents(tensor.shape))
    return status != calls.NOT_RECORDING


class Gradient:
    """Reports the name of one parameter's gradient each time that the gradient is complete. Runs once for each
    parameter in each backward pass, so everything that does not change is computed in advance."""

    __slots__ = ("text", "dtype", "bytes", "label", "rank", "shape")

    def __init__(self, name, parameter):
        self.text = _text(name) + b".grad"
        self.dtype = None if hasattr(parameter, "to_local") else parameter.dtype
        self.bytes = parameter.numel() * parameter.element_size()
        self.label = _dtype(parameter.dtype)
        self.rank, self.shape = _extents(parameter.shape)

    def __call__(self, parameter):
        if guard.off:
            return
        try:
            gradient = parameter.grad
            if gradient is None:
                return
            if gradient.dtype is not self.dtype:
                say(self.text, gradient)
                return
            device = gradient.get_device()
            address = _address(gradient)  # 0 if it is sparse
            if device >= 0 and address != 0:
                calls.tensor_create(device, address, self.bytes, self.text, self.label, self.rank, self.shape)
        except Exception:  # pylint: disable=broad-except
            guard.failed("a gradient's hook")


class Names:
    """Reports the names of tensors."""

    def __init__(self, torch, paths):
        self._tensor = torch.Tensor
        self._paths = paths
        self._results = set()  # addresses of results of models in this step
        self._gradients = {}  # by id of the parameter: a weak reference to it, and its hook

    def of_root(self, root):
        """Names the parameters and buffers of a root, unless they have names and are at the same addresses as then.
        Usually O(1)."""
        known = root.named
        if known is not None and all(is_there() for is_there in known):
            return
        module = root.module()
        if module is None:
            return
        everything = [(self._paths.join(root, key), tensor)
                      for some in (module.named_parameters(), module.named_buffers())
                      for key, tensor in some]
        calls.push(_PARAMETERS)
        try:
            said = all([say(_text(name), tensor.detach()) for name, tensor in everything])
        finally:
            calls.pop()
        for name, tensor in everything:
            self._watch(name, tensor)
        if said:
            root.named = [_Place(tensor) for _, tensor in everything[:1] + everything[-1:]]

    def of_inputs(self, arguments):
        """Names the inputs of a model, except for results of other models, such as the images that a
        discriminator gets from a generator."""
        for position, argument in enumerate(arguments[:_MOST_INPUTS]):
            if isinstance(argument, self._tensor) and argument.is_cuda and not argument.requires_grad \
                    and _address(argument) not in self._results:
                say(b"input.%d" % position, argument)

    def step_began(self):
        self._results.clear()

    def not_inputs(self, result):
        """The result of a model."""
        if result.is_cuda and len(self._results) < _MOST_RESULTS and not hasattr(result, "to_local"):
            self._results.add(_address(result))

    def _watch(self, name, parameter):
        """Adds a hook that names the gradient of `parameter`. deepcopy and pickle do not copy the hook."""
        register = getattr(parameter, "register_post_accumulate_grad_hook", None)
        if register is None or not parameter.requires_grad or not parameter.is_leaf:
            return
        key = id(parameter)
        known = self._gradients.get(key)
        if known is not None and known[0]() is parameter:
            known[1].__init__(name, parameter)
            return
        hook = Gradient(name, parameter)
        self._gradients[key] = (weakref.ref(parameter, lambda _: self._gradients.pop(key, None)), hook)
        register(hook)

    def of_optimizer(self, optimizer):
        """Names the state of the optimizer: `blocks.3.weight.exp_avg`."""
        names = self._by_parameter()
        for parameter, state in list(optimizer.state.items()):
            name = names.get(id(parameter))
            if name is None or not isinstance(state, dict):
                continue
            for key, value in list(state.items()):
                if hasattr(value, "data_ptr") and hasattr(value, "is_cuda"):
                    say(_text("%s.%s" % (name, key)), value)

    def _by_parameter(self):
        names = {}
        for root in list(self._paths.roots.values()):
            module = root.module()
            if module is None:
                continue
            for key, parameter in module.named_parameters():
                names.setdefault(id(parameter), self._paths.join(root, key))
        return names


class _Place:
    """The address of a tensor; when called, whether the tensor still has it."""

    __slots__ = ("tensor", "pointer")

    def __init__(self, tensor):
        self.tensor = weakref.ref(tensor)
        self.pointer = self._pointer(tensor)

    @staticmethod
    def _pointer(tensor):
        return _address(tensor) if tensor.is_cuda and not hasattr(tensor, "to_local") else 0

    def __call__(self):
        tensor = self.tensor()
        return tensor is not None and self._pointer(tensor) == self.pointer
