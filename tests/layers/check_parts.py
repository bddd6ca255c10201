#!/usr/bin/env python3
"""Checks tests/parts.txt: that each path in it exists, and that each part under a sanitizer names what its sources use.

usage: check_parts.py SOURCE_ROOT MODULES_FILE

The sources of a part asan-X or tsan-X are those of tests/X and X (of cupti, cupti_hooks; of integration, only its own). A
module that one of them includes, or that such a module uses (check_layers.py), must be in a path of the part. Faults are
reported on one line each, and make the exit status 1.
"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import check_layers  # noqa: E402
import choose  # noqa: E402

TESTED = {"cupti": "cupti_hooks", "integration": None}


def used(root, folders, modules):
    """{folder of this project: one source in `folders` that includes something of it}, with what modules use in turn."""
    found = {}
    for path in check_layers.sources(root):
        if not any(path.startswith(folder + "/") for folder in folders):
            continue
        with open(os.path.join(root, path), encoding="utf-8") as file:
            included = check_layers.INCLUDE.findall(file.read())
        for header in included:
            if not os.path.exists(os.path.join(root, header)) or header.startswith("tests/"):
                continue
            module, _ = check_layers.module_of(header, modules)
            folder = module or os.path.dirname(header)
            for other in {folder, *(check_layers.below(folder, modules) if module else ())}:
                found.setdefault(other, path)
    return found


def wrong_parts(root, parts, modules):
    wrong = [f"{name}: there is no {path}" for name, paths in parts.items() for path in paths
             if not os.path.exists(os.path.join(root, path)) and path != choose.PASSED]
    for name, paths in parts.items():
        sanitizer, _, subject = name.partition("-")
        if sanitizer not in ("asan", "tsan"):
            continue
        folders = ["tests/" + subject, TESTED.get(subject, subject)]
        for folder, source in sorted(used(root, filter(None, folders), modules).items()):
            if not choose.longest(paths, folder):
                wrong.append(f"{name}: {source} uses {folder}, which the part does not name")
    return wrong


def main():
    root, modules_file = sys.argv[1:3]
    with open(modules_file, encoding="utf-8") as file:
        modules = check_layers.read_modules(file.read())
    with open(os.path.join(root, "tests", "parts.txt"), encoding="utf-8") as file:
        parts = choose.read_parts(file.read())
    wrong = wrong_parts(root, parts, modules)
    print(*wrong, f"{len(parts)} parts, {len(wrong)} wrong", sep="\n")
    return 1 if wrong or not parts or not modules else 0


if __name__ == "__main__":
    sys.exit(main())
