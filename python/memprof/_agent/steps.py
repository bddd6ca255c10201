"""Where training steps begin: with the first model that runs to be trained behind an optimizer's step, so that
an evaluation, or what follows the last step, is none.

Of several optimizers one leads. Until an optimizer steps for the second time it is the one that came last:
a generator and a discriminator that take turns make one step. Later another one takes over where it stepped
three times without the leader: in the second phase of a training, for instance.
"""

import gc
import sys
import weakref

from . import calls

_TAKES_OVER = 3


def _program_marks():
    """The program says itself where its steps are."""
    return bool(getattr(sys.modules.get("memprof"), "_marks_steps", False))


class Steps:
    """Marks steps; called by the hooks of modules and of optimizers."""

    def __init__(self, torch):
        self._cuda = torch.cuda
        self._optimizer_type = torch.optim.Optimizer
        self._number = 0
        self._due = True  # this number's mark is not in the log
        self._has_optimizer = None  # unknown
        self._leader = lambda: None  # a weak reference
        self._stepped = weakref.WeakSet()
        self._settled = False  # an optimizer stepped twice
        self._without_leader = weakref.WeakKeyDictionary()  # how often others stepped since the leader
        self._ran = False  # a model that is trained

    def forward(self):
        """A model runs that is trained. The first one begins the first step, where an optimizer exists:
        without one there would be no second. Whether a step began."""
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
            return  # one of many that step without a model between, each for a parameter of its own
        self._without_leader.clear()
        self._number += 1
        self._due = True
        if not self._ran:  # there is no module to wait for
            self._mark()

    def again(self):
        """In a child of the process: another log, or none."""
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
        if _program_marks() or (self._cuda.is_initialized() and self._cuda.is_current_stream_capturing()):
            return
        self._due = calls.step(self._number) == calls.NOT_RECORDING

    def _optimizer_exists(self):
        """Classes are looked at, not objects: some do work when they are asked what they are."""
        if self._has_optimizer is None:
            self._has_optimizer = any(issubclass(type(thing), self._optimizer_type)
                                      for thing in gc.get_objects())
        return self._has_optimizer
