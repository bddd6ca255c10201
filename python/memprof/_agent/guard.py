"""Failures of the agent: they never reach the program."""

import sys

_MOST = 100  # after this many failures the agent is off

failures = 0
off = False


def failed(where):
    """Called in an `except` clause: counts failures, reports the first, and stops the agent after many."""
    global failures, off  # pylint: disable=global-statement
    failures += 1
    off = off or failures >= _MOST
    if failures == 1:
        try:
            error = sys.exc_info()[1]
            sys.stderr.write("memprof: the agent failed in %s (%s: %s); the program is not concerned, "
                             "names may be missing\n" % (where, type(error).__name__, error))
        except Exception:  # pylint: disable=broad-except
            pass
