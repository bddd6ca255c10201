"""memprof.profile, memprof.phase and memprof.phases: answers about one part of a program, while it runs."""

import contextlib
import functools
import itertools
import json
import logging
import os
import shlex
import subprocess
import sys
import time

import memprof

from . import _command
from ._sizes import size

_log = logging.getLogger("memprof")
_phases = set()  # the names given to phase()
_numbers = itertools.count(1)  # each block has a range of its own name
_hinted = False
_SECONDS = 120  # The longest that one verb may take: a training waits for it.
_SITES = 20

_NAMES = ("OutOfMemoryError",)
_WORDS = ("out of memory", "RESOURCE_EXHAUSTED", "cudaErrorMemoryAllocation")


def phase(name):
    """A part of the work, such as "rollout" or "train": a range whose peak `memprof.profile` reports. For `with`."""
    _phases.add(str(name))
    return memprof.range(name)


def phases(target, **methods):
    """Makes methods of an object or a class phases: phases(trainer, rollout="generate", train="training_step")."""
    for name, method in methods.items():
        setattr(target, method, _in_phase(getattr(target, method), name))


def _in_phase(function, name):
    @functools.wraps(function)
    def call(*args, **more):
        with phase(name):
            return function(*args, **more)
    return call


def is_out_of_memory(error):
    """Whether a GPU's memory ran out, in PyTorch, CuPy, JAX or the runtime; not Python's MemoryError."""
    return type(error).__name__ in _NAMES or (
        isinstance(error, RuntimeError) and any(word in str(error) for word in _WORDS))


def _hint():
    global _hinted  # pylint: disable=global-statement
    if not _hinted:
        _hinted = True
        _log.warning("memprof: this process is not recorded, so memprof.profile does nothing; start it with: "
                     "memprof run -o train.mprof -- python %s", " ".join(map(shlex.quote, sys.argv)))


def _run(*arguments):
    """The standard output of the command, or None, after a line to the logger, if it failed."""
    try:
        done = _command.run(_command.path(), arguments, _SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        _log.warning("memprof: %s", error)
        return None
    if done.returncode != 0:
        _log.warning("memprof %s: %s", arguments[0], done.stderr.strip().split("\n")[0])
        return None
    return done.stdout


def _ask(*arguments):
    """The JSON object that a verb prints, or an empty one if it failed."""
    text = _run(*arguments, "--json")
    return {} if text is None else json.loads(text)


def _within(path, *ranges):
    """What `memprof peak --within` says of the time in which all these ranges were open."""
    found = _ask("peak", path, "--top=%d" % _SITES, *("--within=" + name for name in ranges)).get("within", {})
    peaks = [{"device": p["device"], "peak_bytes": p["in_use_bytes"], "driver_peak_bytes": p["driver_bytes"],
              "step": p["step"], "sites": [{key: s[key] for key in ("site", "bytes", "blocks")} for s in p["sites"]]}
             for p in found.get("peaks", [])]
    return peaks, found


def _rows(sites, total, count):
    return ["%12s %4.0f %%  %5d blocks  %s" % (size(s["bytes"]), 100.0 * s["bytes"] / max(total, 1), s["blocks"],
                                               s["site"]) for s in sites[:count]]


class Profile(contextlib.ContextDecorator):
    """What the GPU memory inside a `with` statement, or a decorated function, went to.

        with memprof.profile(on_oom="report", out="memory.txt") as p:
            train()
        print(p)                # ten lines; also inside the block, about the time until then
        p.peak()                # or the same as lists of dictionaries

    on_oom="report": if the block fails because a GPU's memory ran out, ten lines go to the logger `memprof` and to the
    notes of the exception (Python 3.11), which then goes on unchanged. `out` is a file for the end of the block:
    text, JSON (*.json) or the report of the whole log as a page (*.html); %p stands for the process, %r for the rank.
    Works in a program started by `memprof run`; elsewhere it says so once, and does nothing."""

    def __init__(self, *, on_oom=None, out=None):
        if on_oom not in (None, "report"):
            raise ValueError("on_oom is None or \"report\", not %r" % (on_oom,))
        self._on_oom, self._out = on_oom, out
        self._begin = self._end = self._found = None
        self._range = self._name = None

    def _recreate_cm(self):
        return type(self)(on_oom=self._on_oom, out=self._out)

    def __enter__(self):
        if not memprof.available():
            _hint()
        self._begin, self._end, self._found = time.monotonic_ns(), None, None
        self._name = "memprof.profile %d" % next(_numbers)
        self._range = memprof.range(self._name)
        self._range.__enter__()
        return self

    def __exit__(self, kind, error, trace):
        self._end = time.monotonic_ns()
        self._range.__exit__(None, None, None)
        try:
            if self._on_oom == "report" and error is not None and is_out_of_memory(error):
                self.report_out_of_memory(error)
            if self._out is not None and self._log_path() is not None:
                self._write(str(self._out).replace("%p", str(os.getpid())).replace("%r", os.environ.get("RANK", "0")))
        except Exception as failure:  # pylint: disable=broad-except  # The program's own result matters more.
            _log.warning("memprof: no report: %s: %s", type(failure).__name__, failure)
        return False

    def _log_path(self):
        """The log, whole up to now, if it can be read."""
        path = memprof.log_path()
        if path is None or self._begin is None:
            return None
        if _command.path() is None:
            _log.warning("memprof: no memprof command on PATH; afterwards: memprof report %s", path)
            return None
        memprof.flush()
        return path

    def _look(self):
        """`peaks`, `phases`, and the first and last of the `steps`; computed once, when the block has ended."""
        if self._found is not None:
            return self._found
        found = {"peaks": [], "phases": {}, "steps": (-1, -1)}
        path = self._log_path()
        if path is None:
            return found
        found["peaks"], said = _within(path, self._name)
        found["steps"] = (said.get("first_step", -1), said.get("last_step", -1))
        for name in sorted(_phases) if found["peaks"] else ():
            peaks, said = _within(path, self._name, name)
            if peaks:
                found["phases"][name] = dict(peaks[0], times=said["times"])
                del found["phases"][name]["driver_peak_bytes"]
        if self._end is not None:
            self._found = found
        return found

    def peak(self):
        """A dictionary for each device, the highest first: `device`, `peak_bytes` (in use within the block: blocks of
        a framework's allocator and other driver memory), `driver_peak_bytes`, `step`, and what was live then by the
        line that allocated it: `sites`, each with `site`, `bytes`, `blocks`."""
        return self._look()["peaks"]

    def phases(self):
        """By name of memprof.phase: the peak within it as in `peak`, and `times`, how often it ran."""
        return self._look()["phases"]

    def leaks(self):
        """What grew with the steps of the block, worst first: `site`, `tier`, `bytes` and `blocks` (those born in the
        block, which are still there), `bytes_per_step`, `why`, `holders` (paths, with `memprof run --holders`)."""
        path = self._log_path()
        if path is None:
            return []
        first, last = self._look()["steps"]
        found = []
        for leak in _ask("leaks", path).get("leaks", []):
            mine = [s for s in leak.get("survivors", []) if last < 0 or first <= s["step"] <= last]
            if mine:
                found.append({"site": leak["site"], "tier": leak["tier"], "bytes": sum(s["bytes"] for s in mine),
                              "blocks": sum(s["blocks"] for s in mine), "bytes_per_step": leak["bytes_per_step"],
                              "why": leak["why"], "holders": [h["path"] for h in leak.get("holders", [])]})
        return found

    def holders(self):
        """Which variables hold this process's GPU memory now (PyTorch), most first: `path`, `kind`, `bytes`, `blocks`,
        as `memprof holders` prints them. Takes about a second, more for many objects."""
        if self._log_path() is None:
            return []
        return [{key: held[key] for key in ("path", "kind", "bytes", "blocks")}
                for held in _ask("holders", str(os.getpid())).get("holders", [])]

    def __str__(self):
        found = self._look()
        if not found["peaks"]:
            return "memprof: nothing was recorded here"
        most, phases, leaks = found["peaks"][0], found["phases"], self.leaks()
        lines = ["memprof: peak %s in use on device %d%s; %s from the driver" % (
            size(most["peak_bytes"]), most["device"], _step(most["step"]), size(most["driver_peak_bytes"]))]
        lines += _rows(most["sites"], most["peak_bytes"], 7 - bool(phases) - bool(leaks))
        if phases:
            lines.append("  phases: " + ", ".join("%s %s" % (name, size(p["peak_bytes"])) for name, p in sorted(
                phases.items(), key=lambda item: -item[1]["peak_bytes"])[:4]))
        if leaks:
            lines.append("  grows: %s per step at %s" % (size(leaks[0]["bytes_per_step"]), leaks[0]["site"]))
        return "\n".join(lines + ["  log: " + str(memprof.log_path())])

    def report_out_of_memory(self, error):
        """Says in ten lines why memory ran out: to the logger, and as a note of the exception."""
        path = self._log_path()
        failures = [] if path is None else [
            f for f in _ask("oom", path).get("failures", []) if f["time_ns"] >= self._begin and "sites" in f]
        if not failures:
            return None
        text = "\n".join(_failure(failures[-1], path))
        _log.error(text)
        # torchrun --log-dir makes a folder for each worker, and names a file in it.
        folder = os.path.dirname(os.environ.get("TORCHELASTIC_ERROR_FILE", ""))
        if os.path.isdir(folder):
            with open(os.path.join(folder, "memprof.txt"), "w", encoding="utf-8") as file:
                file.write(text + "\n")
        if hasattr(error, "add_note"):
            error.add_note(text)
        return text

    def _write(self, path):
        if path.endswith(".html"):
            _run("export", "--to=html", "--force", "-o", path, memprof.log_path())
            return
        text = str(self)
        if path.endswith(".json"):
            text = json.dumps({"schema": "memprof.profile/1", "log": memprof.log_path(), "peaks": self.peak(),
                               "phases": self.phases(), "leaks": self.leaks()}, indent=1)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text + "\n")


def _step(number):
    return " at step %d" % number if number >= 0 else ""


def _failure(failure, path):
    """Ten lines at most about a failure of `memprof oom --json`."""
    live = failure["space"]["blocks_bytes"] + sum(failure["space"]["direct"].values())
    lines = ["memprof: out of memory: %s on device %d%s, requested by %s" % (
        size(failure["bytes"]), failure["device"], _step(failure["step"]), failure["site"]),
             "  " + " ".join(failure["why"].split()),
             "  in use then: %s, by the line that allocated it:" % size(live)] + _rows(failure["sites"], live, 3)
    holders = failure.get("holders", [])
    if holders:
        lines.append("  kept by: %s (%s)" % (holders[0]["path"], size(holders[0]["bytes"])))
    growth = failure.get("growth")
    if growth:
        lines.append("  to change: keep less at %s: %s more stay with every step" % (
            growth["site"], size(growth["bytes_per_step"])))
    fits = [r["words"] for r in failure["remedies"] if r["fits"]][:1 if growth else 2]
    lines += ["  it would fit with: " + words for words in fits]
    return lines[:9] + ["  log: %s; more: memprof oom %s" % (path, shlex.quote(path))]
