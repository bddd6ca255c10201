"""The memprof command, for questions of this process about its own log."""

import os
import shutil
import subprocess
import sys


def path():
    """MEMPROF_COMMAND, the one beside this Python, where pip installs it, or one on PATH; None."""
    beside = os.path.join(os.path.dirname(sys.executable or ""), "memprof")
    return (os.environ.get("MEMPROF_COMMAND") or (beside if os.access(beside, os.X_OK) else None)
            or shutil.which("memprof"))


def run(command, arguments, seconds=None):
    """What subprocess.run returns, with both outputs as text; OSError, subprocess.TimeoutExpired. The command itself is
    not recorded."""
    return subprocess.run([command, *arguments], env=dict(os.environ, MEMPROF_DISABLE="1"), check=False, timeout=seconds,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", errors="replace")
