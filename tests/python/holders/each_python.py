"""Runs a test with each CPython from 3.9 on that is on this machine: the one that runs this, and those of pyenv and
on PATH.

usage: each_python.py TEST ARGUMENT…
"""

import concurrent.futures
import glob
import os
import re
import subprocess
import sys

_AT_ONCE = 4  # tests mostly wait


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


def run(python):
    return subprocess.run([python, "-B", *sys.argv[1:]], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)


def main():
    failed = []
    found = sorted(interpreters().items())
    with concurrent.futures.ThreadPoolExecutor(_AT_ONCE) as pool:
        for (version, path), done in zip(found, pool.map(lambda one: run(one[1]), found)):
            print("Python %d.%d: %s\n%s" % (*version, path, done.stdout), flush=True)
            if done.returncode != 0:
                failed.append("%d.%d" % version)
    if failed:
        print("failed with Python " + ", ".join(failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
