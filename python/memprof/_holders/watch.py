"""Looks at what keeps memory alive, and reports it to the recorder: at steps 4, 8, 16 and so on, as often between
them as the looks take less than a two-hundredth of the run, at a snapshot, when PyTorch has no memory left, and at
exit. Where no step is seen: each time that the program has made half as many allocations more, as long as the looks take
a second and a twentieth of the run.
"""

import atexit
import os
import sys
import time

from .. import _library
from . import answer, finder, look
from .shield import shielded

_SHARE_OF_RUN = 200
_FIRST_STEP = 4
_GROWTH, _LEAST_GROWTH = 1.5, 8
_FREE, _SHARE_WITHOUT_STEPS = 1.0, 20
_SHORTEST_WAIT, _WAITS = 0.01, 30  # seconds between two counts of the allocations: a part of the time so far
_MOST_STORAGES = 20000  # of a look: the log is no copy of the program
_KINDS = {"python": 1, "autograd": 2, "c++": 3, "cycle": 4}  # HolderKind of the log

_held = _library.function("memprof_held", hold=True)
_end = _library.function("memprof_holders", hold=True)


class Watch:
    def __init__(self, library, torch):
        self._library = library
        self.look = shielded(torch, self._look)
        self._finder = finder.Finder(library, torch)
        self._torch = torch
        self._cuda = torch.cuda
        self._attach = getattr(torch._C, "_cuda_attach_out_of_memory_observer", None)
        self._looking = False
        self._next_step = _FIRST_STEP
        self._next_time = float("inf")
        self._steps = 0  # seen
        self._look_asked = shielded(torch, self._asked_look)
        self._asked = False  # of the main thread, which has not come to it
        self._begin = time.monotonic()
        self._spent = 0.0  # seconds
        self._next_allocations = _LEAST_GROWTH

    def tick(self):
        """In a thread of its own, some seconds after it was called last. Returns in how many it should be called
        again; None once the program was seen to make steps."""
        if self._steps >= _FIRST_STEP:
            return None
        elapsed = time.monotonic() - self._begin
        if not self._asked and not self._looking and self._spent < _FREE + elapsed / _SHARE_WITHOUT_STEPS \
                and self._allocations() >= self._next_allocations:
            self._asked = True  # before: the main thread may come to it at once
            if self._library.call_in_main(self._look_asked) != 0:
                self._asked = False
        return max(_SHORTEST_WAIT, elapsed / _WAITS)

    def _asked_look(self):
        """In the main thread, between two of its operations."""
        self._asked = False
        if look.is_traced(self._torch) or look.in_backward_pass(look.interrupted()):
            return
        allocations = self._allocations()
        spent = self._spent
        self._look(anywhere=True)
        if self._spent > spent:
            self._next_allocations = max(allocations * _GROWTH, allocations + _LEAST_GROWTH)

    def _allocations(self):
        """Of PyTorch's allocator on all devices, so far. Another one that it was given may not count them, and what another
        process shared is not allocated here: then the time, as if a hundred were made a second."""
        try:
            figures = self._torch._C._cuda_memoryStats
            made = sum(figures(device)["allocation"]["all"]["allocated"] for device in range(self._cuda.device_count()))
        except Exception:  # pylint: disable=broad-except
            made = 0
        return made or (time.monotonic() - self._begin) * 100

    def step(self, number):
        """A step begins."""
        self._steps += 1
        self._observe()
        if number >= self._next_step or time.monotonic() >= self._next_time:
            while self._next_step <= number:
                self._next_step *= 2
            self.look()

    def _look(self, anywhere=False):
        """Never fails: what goes wrong is said once, and the program continues. `anywhere`: also
        within a backward pass, as when it lacks memory."""
        if self._looking:  # by a signal's handler, or an observer, within a look
            return
        if look.is_traced(self._torch) or not anywhere and look.in_backward_pass():
            return  # later
        self._looking = True
        begin = time.monotonic()
        try:
            found = self._finder.find()
            self._report(found, time.monotonic() - begin)
        except Exception as error:  # pylint: disable=broad-except
            if look.is_of_program(error):  # a handler of a signal has raised it
                raise
            _failed(error)
        finally:
            end = time.monotonic()
            self._spent += end - begin
            self._next_time = end + (end - begin) * _SHARE_OF_RUN
            self._looking = False

    def _report(self, found, seconds):
        garbage = 0
        if len(found) > _MOST_STORAGES:
            _say("holders of the %d largest of %d storages are in the log" % (_MOST_STORAGES, len(found)))
        for held in found[:_MOST_STORAGES]:
            for holder in held.holders:
                _held(held.device, held.address, held.bytes, _KINDS[holder.kind], _text(holder))
            if held.is_garbage():
                garbage += held.bytes
        _end(garbage, self._finder.examined, int(seconds * 1e9))

    def _observe(self):
        """Once CUDA is in use: asking for it earlier would initialise it, after which the program could not fork."""
        if self._attach is not None and self._cuda.is_initialized():
            attach, self._attach = self._attach, None
            attach(shielded(self._torch, lambda *_: self._look(anywhere=True)))


def _text(holder):
    """A line each; names may have strange characters."""
    lines = (holder.line, holder.root, *holder.chain)
    return "\n".join(line.replace("\0", "").replace("\n", " ") for line in lines).encode("utf-8", "replace")


_told = False


def _say(text):
    """Once: it is the program's terminal."""
    global _told  # pylint: disable=global-statement
    if not _told:
        _told = True
        sys.stderr.write("memprof: %s\n" % text)


def _failed(error):
    _say("could not look for holders (%s: %s); the program is not concerned" % (type(error).__name__, error))


watch = None  # the process's, once started


def start(torch):
    """With `memprof run --holders`."""
    global watch  # pylint: disable=global-statement
    path = os.environ.get("MEMPROF_HOLDERS")
    if not path or _held is None or _end is None:
        return None
    try:
        library = look.Library(path)
        watch = Watch(library, torch)
    except OSError as error:
        _failed(error)
        return None
    # Once CUDA is in use: before, a program may count on having one thread, to fork.
    when_in_use = getattr(torch.cuda, "_lazy_call", None)
    if when_in_use is not None:
        when_in_use(lambda: answer.start(library, torch, watch.tick))
    library.known_at_exit = atexit.register(watch.look)
    return watch
