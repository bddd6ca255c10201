"""Copies finished logs to a folder or a store of objects. `memprof run --upload` starts it.

usage: python3 -m memprof._fleet.upload --below FOLDER --to URI LOG...
"""
import argparse
import os
import sys

from . import storage
from .errors import FleetError


def targets(logs, below, to):
    """[(log, where)]: each keeps its name, from the folder on in which the names begin to vary."""
    root = storage.cleaned(to)
    below = os.path.abspath(below or ".")
    named = []
    for log in map(os.path.abspath, logs):
        name = os.path.relpath(log, below)
        if name.startswith(os.pardir):
            name = os.path.basename(log)
        named.append((log, f"{root}/{name}"))
    return named


def upload(logs, below, to):
    """Returns how many could not be copied; each is told. One that is there is replaced: it has the same name, job and
    rank, and is an earlier copy of this one."""
    place, failed = storage.of(storage.cleaned(to)), 0
    for log, where in targets(logs, below, to):
        try:
            place.put(log, where)
        except Exception as error:  # every store has errors of its own
            print(f"memprof: {where}: {storage.line(error)}", file=sys.stderr)
            failed += 1
    return failed


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="memprof run --upload", description=__doc__.splitlines()[0])
    parser.add_argument("logs", nargs="+", metavar="LOG")
    parser.add_argument("--below", required=True, metavar="FOLDER", help="names of copies begin here")
    parser.add_argument("--to", required=True, metavar="URI", help="a folder, or what fsspec knows: s3://bucket/folder")
    options = parser.parse_args(arguments)
    try:
        return 1 if upload(options.logs, options.below, options.to) else 0
    except FleetError as error:
        print(f"memprof: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
