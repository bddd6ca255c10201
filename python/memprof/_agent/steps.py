"""Finds the begins of training steps. A step begins with the first forward pass of a model in training mode after
an optimizer's step. So neither an evaluation, nor the work after the last step, begins a step.

If there are several optimizers, only the steps of one of them, the leader, end training steps. Until an optimizer
steps for the second time, the leader is the one that stepped last: a generator and a discriminator that alternate
make one step. Later, another optimizer becomes the leader if it steps three times without the leader, for instance
in the second phase of a training.
"""

import gc
import sys
import weakref

from . import calls

_TAKES_OVER = 3


def _program_marks():
    """Whether the program marks its steps itself."""
    return bool(getattr(sys.modules.get("memprof"), "_marks_steps", False))


class Steps:
    """Marks steps; called by the hooks of modules and of optimizers."""

    def __init__(self, torch, watch=None, ended=None):
        self._watch = watch  # looks for holders (`memprof run --holders`)
        self._ended = ended  # called when a step has ended
        self._cuda = torch.cuda
        self._optimizer_type = torch.optim.Optimizer
        self._number = 0
        self._due = True  # the mark of this number is not in the log yet
        self._has_optimizer = None  # unknown
        self._leader = lambda: None  # a weak reference
        self._stepped = weakref.WeakSet()
        self._settled = False  # an optimizer has stepped twice
        self._without_leader = weakref.WeakKeyDictionary()  # how often other optimizers stepped since the leader did
        self._ran = False  # a model has run in training mode

    def forward(self):
        """A model runs in training mode. The first one begins the first step, but only if an optimizer exists:
        without one there would be no second step. Returns whether a step has begun."""
        self._ran = True
        if not self._due or (self._number == 0 and not self._optimizer_exists()):
            return False
        self._mark()
        return True

    def before(self):
        """An optimizer is about to step: the first step begins here, if no model began it."""
        if self._due and self._number == 0:
            self._mark()

    def after(self, optimizer):
        """An optimizer has stepped."""
        if self._due or not self._ends_step(optimizer):
            return  # one of many optimizers that step without a forward pass between them, each for one parameter
        self._without_leader.clear()
        if self._ended is not None:
            self._ended()
        self._number += 1
        self._due = True
        if not self._ran:  # no module runs, so the next step begins now
            self._mark()

    def again(self):
        """In a forked child, which has another log, or none."""
        self._due = True

    def _ends_step(self, optimizer):
        leader = self._leader()
        known = optimizer in self._stepped
        self._settled = self._settled or known
        self._stepped.add(optimizer)
        if leader is optimizer:
            return True
        times = self._without_leader[optimizer] = self._without_leader.get(optimizer, 0) + 1
        if leader is None or not self._settled or times >= _TAKES_OVER:
            self._leader = weakref.ref(optimizer)
            return True
        return False

    def _mark(self):
        self._due = False
        if self._watch is not None:
            self._watch.step(self._number)
        if _program_marks() or (self._cuda.is_initialized() and self._cuda.is_current_stream_capturing()):
            return
        self._due = calls.step(self._number) == calls.NOT_RECORDING

    def _optimizer_exists(self):
        """Reads the classes of objects and not the objects, because some run code when isinstance() is called."""
        if self._has_optimizer is None:
            self._has_optimizer = any(issubclass(type(thing), self._optimizer_type)
                                      for thing in gc.get_objects())
        return self._has_optimizer
