"""Runs a test with each CPython from 3.9 on that is on this machine: the one that runs this, and those of pyenv and
on PATH.

usage: each_python.py TEST ARGUMENT…
"""

import glob
import os
import re
import subprocess
import sys


def interpreters():
    """One for each minor version."""
    found = {}
    named = re.compile(r"/python3\.\d+$")
    folders = os.environ.get("PATH", "").split(os.pathsep) + glob.glob(os.path.expanduser("~/.pyenv/versions/*/bin"))
    for path in [sys.executable] + [file for folder in folders for file in glob.glob(os.path.join(folder, "python3.*"))]:
        if path != sys.executable and (not named.search(path) or "shims" in path):
            continue
        asked = subprocess.run([path, "-c", "import sys; print(*sys.version_info[:2], sys.implementation.name)"],
                               capture_output=True, text=True, check=False)
        if asked.returncode == 0:
            major, minor, name = asked.stdout.split()
            if name == "cpython" and (int(major), int(minor)) >= (3, 9):
                found.setdefault((int(major), int(minor)), path)
    return found


def main():
    failed = []
    for version, path in sorted(interpreters().items()):
        print("Python %d.%d: %s" % (*version, path), flush=True)
        if subprocess.run([path, "-B", *sys.argv[1:]], check=False).returncode != 0:
            failed.append("%d.%d" % version)
    if failed:
        print("failed with Python " + ", ".join(failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
