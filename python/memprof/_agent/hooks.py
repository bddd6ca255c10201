"""PyTorch's hooks, and their reports to the recorder.

Forward: global hooks of modules report which module a thread runs, `blocks.3.attn.qkv (forward)`. These hooks
are registered in PyTorch, not in the modules, so that pickling, copying and comparing modules does not change.

Backward: autograd runs the graph from its end, later work first. The nodes of a module lie between the node that
made its result and the node that made its argument. A hook on each of these two nodes reports which module's
part begins there. The graph itself is unchanged, and the hooks end with it. A module's last part ends with the
pass.
"""

import functools
import os
import threading
import warnings

from . import calls, guard
from .paths import Paths
from .steps import Steps
from .tensors import Names


class _State:
    __slots__ = ("running", "marked", "backward", "optimizer")

    def __init__(self):
        self.running = []  # places of the modules that run, the outermost first
        self.marked = set()  # numbers of the nodes that have a hook, while the root runs
        self.backward = None  # the pass with an open range, or None
        self.optimizer = False  # the optimizer's range is open


class _Thread(threading.local):
    """A thread's state is asked for once a hook: that takes as long as all else in some of them."""

    def __init__(self):
        self.state = _State()


class Hooks:
    def __init__(self, torch, watch=None, ended=None):
        self._tensor = torch.Tensor
        self._grad_enabled = torch.is_grad_enabled
        self._compiling = torch.compiler.is_compiling  # a constant for compilers, which then omit the rest of a hook
        self._tracing = getattr(torch._C, "_is_tracing", torch.jit.is_tracing)  # without layers of Python
        self._queue_callback = torch.autograd.Variable._execution_engine.queue_callback
        self._thread = _Thread()
        self._passes = 0  # incremented when a later backward pass is a new one
        self._paths = Paths()
        self._names = Names(torch, self._paths)
        self._steps = Steps(torch, watch, ended)
        self._states = {}  # by id of the optimizer: how many parameters have state that was named

    # --- forward

    def before_forward(self, module, arguments):
        if self._compiling() or guard.off or self._tracing():
            return
        try:
            thread = self._thread.state
            running = thread.running
            caller = running[-1] if running else None
            place = self._paths.find(module) or self._paths.learn(module, caller)
            running.append(place)
            recorded = calls.push(place.again if thread.backward is not None else place.forward) == 0
            if not recorded:
                return
            if caller is None:
                self._root(thread, module, place, arguments)
            elif self._grad_enabled():
                self._enters(thread, arguments, caller)
        except Exception:  # pylint: disable=broad-except
            guard.failed("a module's hook")

    def after_forward(self, module, _, result):
        if self._compiling() or guard.off or self._tracing():
            return
        try:
            thread = self._thread.state
            running = thread.running
            while running:  # also modules that ended by an exception
                place = running.pop()
                calls.pop()
                if place.module() is module:
                    break
            else:
                return
            if self._grad_enabled():
                tensor = self._enters(thread, result, place)
                if not running and tensor is not None:
                    self._names.not_inputs(tensor)
            if not running:
                thread.marked.clear()
        except Exception:  # pylint: disable=broad-except
            guard.failed("a module's hook")

    def _root(self, thread, module, place, arguments):
        if thread.optimizer:  # the optimizer failed, and the program continued
            thread.optimizer = False
            calls.pop()
            calls.pop()
            calls.push(place.forward)
        if place.root is None or thread.backward is not None:
            return
        self._passes += 1
        self._names.of_root(place.root)
        if module.training and self._grad_enabled():
            if self._steps.forward():
                self._names.step_began()
            self._names.of_inputs(arguments)

    # --- backward

    def _enters(self, thread, value, place):
        """Adds a hook to the node that made `value`: when the backward pass reaches the node, the part of `place`
        begins. Returns the tensor in `value`."""
        tensor = value if type(value) is self._tensor else self._first_tensor(value)
        node = tensor.grad_fn if tensor is not None else None
        if node is None:
            return tensor
        number = node._sequence_nr()  # unlike a reference to the node, it keeps nothing alive
        if number in thread.marked:
            return tensor  # also the result of a module within this one, or of another module
        thread.marked.add(number)
        if place.enter is None:
            place.enter = functools.partial(self._entered, place.backward)
        node.register_prehook(place.enter)
        return tensor

    def _first_tensor(self, value):
        for _ in range(4):  # a result is a tensor, or contains one
            if isinstance(value, self._tensor):
                return value
            if isinstance(value, (tuple, list)) and value:
                value = value[0]
            elif isinstance(value, dict) and value:
                value = next(iter(value.values()))
            else:
                return None
        return None

    def _entered(self, label, _):
        if guard.off:
            return
        try:
            thread = self._thread.state
            if thread.backward is not None:
                calls.pop()
            if thread.backward != self._passes:
                self._queue_callback(self._left)
                thread.backward = self._passes
            calls.push(label)
        except Exception:  # pylint: disable=broad-except
            guard.failed("a node's hook")

    def _left(self):
        """The part of a backward pass on this thread has ended."""
        thread = self._thread.state
        if thread.backward is not None:
            thread.backward = None
            calls.pop()

    # --- optimizers

    def before_step(self, optimizer, _arguments, _keywords):
        if self._compiling() or guard.off:
            return
        try:
            self._passes += 1
            self._steps.before()
            thread = self._thread.state
            if thread.optimizer:
                calls.pop()
            thread.optimizer = True
            calls.push(type(optimizer).__name__.encode() + b".step (optimizer)")
        except Exception:  # pylint: disable=broad-except
            guard.failed("an optimizer's hook")

    def after_step(self, optimizer, _arguments, _keywords):
        if self._compiling() or guard.off:
            return
        try:
            thread = self._thread.state
            if thread.optimizer:
                thread.optimizer = False
                calls.pop()
            known = self._states.get(id(optimizer))
            now = self._figure(optimizer)
            if now != known:
                self._states[id(optimizer)] = now
                self._names.of_optimizer(optimizer)
            self._steps.after(optimizer)
        except Exception:  # pylint: disable=broad-except
            guard.failed("an optimizer's hook")

    @staticmethod
    def _figure(optimizer):
        """A value that changes when the optimizer has created or loaded state."""
        state = optimizer.state
        first = next(iter(state.values()), None)
        return (len(state),) + tuple(id(value) for value in (first or {}).values() if hasattr(value, "data_ptr"))

    def forked(self):
        self._thread.__init__()
        self._steps.again()
        for root in self._paths.roots.values():
            root.named = None


def install(torch, watch=None, ended=None):
    from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
    from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
    hooks = Hooks(torch, watch, ended)
    register_module_forward_pre_hook(hooks.before_forward)
    register_module_forward_hook(hooks.after_forward, always_call=True)
    register_optimizer_step_pre_hook(hooks.before_step)
    register_optimizer_step_post_hook(hooks.after_step)
    # torch.compile warns about global hooks, but the program did not register these.
    warnings.filterwarnings("ignore", message="Using `torch.compile\\(module\\)` when there are global hooks")
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=hooks.forked)
    return hooks
