"""The part of the log that a test wrote, and what the command says about it."""

import contextlib
import gc
import json
import subprocess
import sys

import memprof
from memprof import _command
from memprof._library import function

# A command that takes longer than this has a log that no test should make.
_SECONDS = 300


class Failure(Exception):
    """The log cannot be read: one line."""


def loaded():
    """Whether the recorder is in this process. It has no log before the first call to CUDA."""
    return function("memprof_log_path") is not None


def tidy():
    """Frees what only waits for Python's collector, and what PyTorch keeps for its libraries and would give back."""
    gc.collect()
    torch = sys.modules.get("torch")
    clear = getattr(getattr(torch, "_C", None), "_cuda_clearCublasWorkspaces", None)
    # Without a context it would make one.
    if clear is not None and torch.cuda.is_initialized():
        clear()


def ask(verb, *arguments):
    """The JSON of `memprof VERB --json ARGUMENTS LOG` about this process's log so far."""
    memprof.flush()
    program = _command.path()
    if program is None:
        raise Failure("there is no memprof command: set MEMPROF_COMMAND")
    try:
        done = _command.run(program, [verb, "--json", *arguments, memprof.log_path()], _SECONDS)
        if done.returncode == 0:
            return json.loads(done.stdout)
    except (OSError, subprocess.TimeoutExpired, ValueError) as error:
        raise Failure(f"memprof {verb}: {error}") from error
    raise Failure(done.stderr.strip() or f"memprof {verb}: status {done.returncode}")


class Peak:
    """The most that was in use while the test ran. `before`: what was in use when it began."""

    def __init__(self, found=None):
        uses = (found or {}).get("in_use") or [{"device": 0, "before_bytes": 0, "after_bytes": 0}]
        highest = max(uses, key=lambda use: use["after_bytes"] - use["before_bytes"])
        self.device = highest["device"]
        self.before, self.total = highest["before_bytes"], highest["after_bytes"]
        self.event = (found or {}).get("after", {}).get("event")
        self.sites = (found or {}).get("sites", [])

    @property
    def rise(self):
        return self.total - self.before

    def categories(self):
        """(name, bytes) of all that was in use at the peak, largest first; [] if it cannot be said."""
        if self.event is None:
            return []
        try:
            found = ask("peak", f"--at=event={self.event}", f"--device={self.device}")
        except Failure:
            return []
        return [(one["category"], one["bytes"]) for peak in found["peaks"] for one in peak["by_category"] if one["bytes"]]


class Part:
    """A test between the end of its setup and the end of its teardown."""

    _count = 0

    def __init__(self, name):
        Part._count += 1
        # A name may come twice (reruns), and is cut if it is long: therefore the number, and in front.
        self._label = f"test {Part._count} {{}}: {name}"[:1000]
        self._from = "start"
        self._quiet = False  # nothing was recorded while it ran

    def moment(self, which):
        return f"snapshot={self._label.format(which)}"

    @contextlib.contextmanager
    def run(self, name):
        """The test runs inside of the `with` statement."""
        self._begin()
        with memprof.range(name):
            before = memprof.stats()
            yield
            self._quiet = before is not None and memprof.stats()["events"] == before["events"]
        self.mark("ends")

    def _begin(self):
        # The log begins with the first call to CUDA; there is no mark before it.
        if memprof.log_path() is not None:
            self._from = self.moment("begins")
        memprof.snapshot(self._label.format("begins"))

    def mark(self, which):
        """`which`: "ends" or "is torn down"."""
        memprof.snapshot(self._label.format(which))

    def arguments_of_peak(self):
        return ["--from", self._from, "--to", self.moment("ends"), "--at=peak"]

    def arguments_of_left(self):
        return ["--from", self._from, "--to", self.moment("is torn down"), "--new"]

    def peak(self, total=False):
        """With `total` also of a test that did nothing on a GPU."""
        if memprof.log_path() is None or (self._quiet and not total):
            return Peak()
        return Peak(ask("diff", "--threshold=0", *self.arguments_of_peak()))

    def left(self):
        """The sites whose memory was allocated while the test ran and is alive after its teardown."""
        if memprof.log_path() is None:
            return []
        sites = ask("diff", "--threshold=0", *self.arguments_of_left())["sites"]
        return [site for site in sites if site["after_bytes"] > 0]
