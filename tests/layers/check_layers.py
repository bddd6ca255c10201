#!/usr/bin/env python3
"""Checks that modules use only the modules that they name.

usage: check_layers.py SOURCE_ROOT MODULES_FILE [--nm NM]

MODULES_FILE is written by memprof_write_modules (cmake/MemprofModule.cmake): a line "FOLDER;LIBRARY OR
OBJECTS,…;FOLDER,…" for each module, and "NAME/;LIBRARY;…" for a library of several. Faults, reported on one line each, are

  a module that includes a header of a module that it did not name, or whose library needs its symbols,
  a file that includes a header from the internal/ of another module (tests/FOLDER may include those of FOLDER,
  and tests/libmemprof/X those of libmemprof/src/X),
  a module that names another one that it does not need, and modules that need each other.

The exit status is 1 if there are any.
"""
import argparse
import os
import re
import subprocess
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)
SOURCES = (".cc", ".h", ".cu")
BELOW_ALL = ("proto", "libmemprof/include")  # folders that every module may use
OF_LIBC = ("dlsym", "dlvsym")  # exports/ defines these in place of libc


class Module:
    def __init__(self, folder, files=(), depends=()):
        self.folder, self.files, self.depends = folder, tuple(files), tuple(depends)


def read_modules(text):
    modules = {}
    for line in text.splitlines():
        folder, files, depends = line.split(";")
        modules[folder] = Module(folder, filter(None, files.split(",")), filter(None, depends.split(",")))
    return modules


def module_of(path, modules):
    """The module of a file, and whether the file is internal to it; (None, False) if it is in no module."""
    folder = os.path.dirname(path)
    internal = os.path.basename(folder) == "internal"
    if internal:
        folder = os.path.dirname(folder)
    return (folder, internal) if folder in modules else (None, internal)


def sources(root):
    for folder, folders, names in os.walk(root):
        folders[:] = [f for f in folders if not f.startswith((".", "build"))]
        for name in names:
            if name.endswith(SOURCES):
                yield os.path.relpath(os.path.join(folder, name), root)


def check_includes(root, modules):
    wrong, used = [], {folder: set() for folder in modules}
    for path in sorted(sources(root)):
        own, _ = module_of(path, modules)
        with open(os.path.join(root, path), encoding="utf-8") as file:
            included = INCLUDE.findall(file.read())
        for header in included:
            if not os.path.exists(os.path.join(root, header)):
                continue  # generated, or not of this project
            its, internal = module_of(header, modules)
            tested = its is not None and path.startswith("tests/" + its.replace("/src", "") + "/")
            if internal and its != own and not tested:
                wrong.append(f"{path}: includes {header}, which is internal to {its}")
            elif own and its and its != own:
                used[own].add(its)
                if its not in modules[own].depends:
                    wrong.append(f"{path}: includes {header}, but {own} does not name {its}")
            elif own and not its and not header.startswith(tuple(b + "/" for b in BELOW_ALL)):
                wrong.append(f"{path}: includes {header}, which is above all modules")
    for folder, module in modules.items():
        for other in module.depends:
            if not folder.endswith("/") and other not in used[folder]:
                wrong.append(f"{folder}: names {other}, but includes nothing of it")
    return wrong


def check_cycles(modules):
    wrong, done = [], set()

    def visit(folder, way):
        if folder in way:
            wrong.append("modules need each other: " + " > ".join(way[way.index(folder):] + [folder]))
        elif folder not in done:
            for other in modules[folder].depends:
                visit(other, way + [folder])
            done.add(folder)

    for folder in modules:
        visit(folder, [])
    return wrong


def below(folder, modules):
    """All modules that a module may use, also indirectly."""
    found, waiting = set(), [folder]
    while waiting:
        for other in modules[waiting.pop()].depends:
            if other not in found:
                found.add(other)
                waiting.append(other)
    return found


def check_links(modules, symbols):
    """`symbols`: for each module, the names that it defines and the names that it needs."""
    defined_in = {}
    for folder, (defined, _) in symbols.items():
        for name in defined - set(OF_LIBC):
            defined_in.setdefault(name, folder)  # a library has the objects of a module below as well
    wrong = []
    for folder, (_, needed) in symbols.items():
        may = below(folder, modules) | {folder}
        may |= {other.split("/")[0] + "/" for other in may}  # libraries of several modules
        for name in sorted(needed):
            if defined_in.get(name, folder) not in may:
                wrong.append(f"{folder}: calls up to {defined_in[name]}, for {name}")
    return wrong


def read_symbols(files, nm):
    if not files:
        return set(), set()
    output = subprocess.run([nm, *files], check=True, capture_output=True, text=True).stdout
    defined, needed = set(), set()
    for line in output.splitlines():
        parts = line.split()
        if len(parts) < 2 or len(parts[-2]) != 1:
            continue
        if parts[-2] == "U":
            needed.add(parts[-1])
        elif parts[-2] in "TDBR":  # not a weak symbol, which every user of a template has
            defined.add(parts[-1])
    return defined, needed - defined


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1])
    parser.add_argument("root")
    parser.add_argument("modules")
    parser.add_argument("--nm", default="nm")
    options = parser.parse_args()
    with open(options.modules, encoding="utf-8") as file:
        modules = read_modules(file.read())
    wrong = check_includes(options.root, modules) + check_cycles(modules)
    wrong += check_links(modules, {f: read_symbols(m.files, options.nm) for f, m in modules.items()})
    for line in wrong:
        print(line)
    print(f"{len(modules)} modules, {len(wrong)} wrong")
    return 1 if wrong or not modules else 0


if __name__ == "__main__":
    sys.exit(main())
