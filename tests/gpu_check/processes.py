"""Sections in separate processes: however a section ends, its result, or that it has none, is known."""
import ctypes
import json
import os
import signal
from pathlib import Path

import verdicts
from machine import run_bounded

# A section ends by itself when its time is up; after this many more seconds it is killed.
_GRACE_S = 8
_PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans():
    """Makes orphaned descendants children of this process, so that none is left running."""
    try:
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    except (OSError, AttributeError):
        pass  # then a guest that outlives its section must end by itself


def end_orphans():
    """Kills everything that a section left: all children of this process, which has no others at that time."""
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            if parent == os.getpid():
                os.kill(int(entry.name), signal.SIGKILL)
                os.waitpid(int(entry.name), os.WNOHANG)
        except (OSError, ValueError, IndexError):
            continue


def write_result(path, found):
    """Written to a temporary file and renamed, so that the file is always complete."""
    aside = path.with_suffix(".part")
    aside.write_text(json.dumps([vars(one) for one in found]))
    aside.rename(path)


def read_result(path):
    found = []
    for one in json.loads(path.read_text()):
        section = verdicts.Section(one["title"], one["verdict"], one["summary"], one["table"], one["notes"])
        section.seconds = one["seconds"]
        found.append(section)
    return found


def run_section(command, result, title, most_s):
    """Runs the program that executes a section and writes its result to `result`."""
    try:
        ended = run_bounded([str(word) for word in command], dict(os.environ), None, most_s + _GRACE_S)
    except OSError as error:
        return [verdicts.Section(title, verdicts.FAILED, f"could not be started: {error.strerror}")]
    finally:
        end_orphans()
    try:
        found = read_result(result)
        if found:
            return found
    except (OSError, ValueError, KeyError, TypeError):
        pass
    said = (ended.errors.strip().splitlines() or [""])[-1]
    how = f"was ended after {most_s + _GRACE_S:.0f} s" if ended.status is None else f"ended with {ended.status}"
    return [verdicts.Section(title, verdicts.FAILED, f"the section's process {how} and said nothing {said}".strip())]
