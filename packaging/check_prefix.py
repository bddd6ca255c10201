#!/usr/bin/env python3
"""Checks that the binaries of a prefix run where they should: what is loaded into programs of users, and the
programs that users start.

usage: check_prefix.py PREFIX

Libraries and programs outside of lib/memprof/viewer may need the C library alone, of at most the version in
OLDEST. The viewer's folder must contain every library that one of its files needs. Prints each
violation; the status is 1 if there was one.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "simcuda", "tools"))
from elf_imports import Imports, NotElf  # noqa: E402

OLDEST = {"lib/libmemprof.so": "2.17", "lib/libmemprof_cupti.so": "2.17", "lib/memprof/libmemprof_holders.so": "2.17",
          "lib/memprof/simcuda": "2.18"}
OLDEST_OF_THE_REST = "2.28"  # the wheel's name promises this
C_LIBRARY = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1"}
BESIDE = {"bin/demo_trainer": {"libcudart.so.12", "libcudart.so.13"}}
VIEWER = "lib/memprof/viewer"


def number(version):
    return tuple(int(part) for part in version.split("."))


def oldest_for(relative):
    return next((version for start, version in OLDEST.items() if relative.startswith(start)), OLDEST_OF_THE_REST)


def is_loader(soname):
    return soname.startswith("ld-linux")


def check_binary(relative, imports):
    """What is wrong with a binary that uses the C library of the machine."""
    allowed = C_LIBRARY | BESIDE.get(relative, set())
    if "/simcuda/" in relative:
        allowed |= {soname for soname in imports.needed if soname.startswith("libsimcuda_")}
    for soname in imports.needed:
        if soname not in allowed and not is_loader(soname):
            yield f"{relative} needs {soname}"
    oldest = oldest_for(relative)
    for name, (version, _) in sorted(imports.names.items()):
        if version and version.startswith("GLIBC_"):
            if version == "GLIBC_PRIVATE" or number(version[len("GLIBC_"):]) > number(oldest):
                yield f"{relative} needs {name} of {version}; it should run with glibc {oldest}"
        elif version and not version.startswith("libcudart"):
            yield f"{relative} needs {name} of {version}"


def check_bundled(relative, imports, bundled):
    for soname in imports.needed:
        if soname not in bundled and not is_loader(soname):
            yield f"{relative} needs {soname}, which is not in {VIEWER}/lib"


def check(prefix):
    bundled = set()
    if os.path.isdir(os.path.join(prefix, VIEWER, "lib")):
        bundled = set(os.listdir(os.path.join(prefix, VIEWER, "lib")))
    count = 0
    for folder, _, files in os.walk(prefix):
        for file in sorted(files):
            path = os.path.join(folder, file)
            relative = os.path.relpath(path, prefix)
            try:
                imports = Imports(path)
            except NotElf:
                continue
            count += 1
            if relative.startswith(VIEWER + "/"):
                yield from check_bundled(relative, imports, bundled)
            else:
                yield from check_binary(relative, imports)
    if count == 0:
        yield f"{prefix} contains no binary"


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    problems = list(check(sys.argv[1]))
    for problem in problems:
        print(f"check_prefix: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
