"""The agent in a program that was attached to (`memprof attach`): what was there before, and then what the agent
always reports. It may be begun and ended many times in one process.
"""

import sys

from .. import _library

_started = False


def begin(library):
    """Called by the recorder's own thread, with the interpreter's lock."""
    _library.use(library)
    from . import before, calls, guard
    calls.bind()
    if not calls.available():
        return
    guard.off = False
    torch = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "cuda"):
        return
    try:
        before.report(torch)
        _start(torch)
    except Exception:  # pylint: disable=broad-except
        guard.failed("the report of what was there before")


def end(_library_path):
    from . import guard
    guard.off = True


def _start(torch):
    global _started  # pylint: disable=global-statement
    if _started:
        return
    _started = True
    from . import hooks, pools
    hooks.install(torch)
    pools.install(torch)
