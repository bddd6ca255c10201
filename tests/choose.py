#!/usr/bin/env python3
"""Which parts of the suite a change can break (parts.txt).

usage: choose.py [--all | --files FILE…] [--labels]

Compares the checkout with the last commit that passed whole (.ci/passed), or takes the files given. Prints a line for
each part: "run PART: why" or "leave PART: why". With --labels, instead, which labels have the tests that the Release
suite leaves out: an expression for ctest -LE.
"""
import argparse
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
PASSED = ".ci/passed"


def read_parts(text):
    """{part: its paths}, in the order of the file."""
    parts, paths = {}, None
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        if not line.startswith(" "):
            name, line = line.split(":", 1)
            paths = parts[name] = []
        paths += line.split()
    return parts


def longest(paths, file):
    """The length of the longest of the paths that is the file or a folder that it is in; 0 if none is."""
    return max((len(p) for p in paths if file == p or file.startswith(p + "/")), default=0)


def choose(parts, files):
    """{part: the file for which it is run}, and a file that may break everything or None."""
    chosen = {}
    for file in files:
        fits = {name: longest(paths, file) for name, paths in parts.items()}
        best = max(fits.values())
        if best == 0 or fits["everything"] == best:
            return {name: file for name in parts}, file
        for name, length in fits.items():
            if length:
                chosen.setdefault(name, file)
    return chosen, None


def labels_left(parts, chosen):
    """Of the tests of parts that are not chosen and not a sanitizer's, as a regular expression."""
    left = [name for name in parts if "-" not in name and name not in ("everything", "always") and name not in chosen]
    return "^(" + "|".join(["nothing", *("optional-" + name for name in left)]) + ")$"


def git(*arguments):
    return subprocess.run(["git", "-C", ROOT, *arguments], check=True, capture_output=True, text=True).stdout


def changed_files():
    """The files that differ from the last commit that passed whole, and that commit; or None and why not."""
    try:
        with open(os.path.join(ROOT, PASSED), encoding="utf-8") as file:
            commit = file.read().split()[0]
        names = git("diff", "--name-only", "--no-renames", "-z", commit, "--")
        return names.split("\0")[:-1] + git("ls-files", "-z", "--others", "--exclude-standard").split("\0")[:-1], commit
    except (OSError, IndexError):
        return None, f"{PASSED} names no commit"
    except subprocess.CalledProcessError as error:
        return None, error.stderr.strip().splitlines()[-1] if error.stderr.strip() else "git does not answer"


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1].removeprefix("usage: "))
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--files", nargs="*")
    parser.add_argument("--labels", action="store_true")
    options = parser.parse_args()
    with open(os.path.join(HERE, "parts.txt"), encoding="utf-8") as file:
        parts = read_parts(file.read())
    files, commit = (options.files, "") if options.files is not None else changed_files()
    if options.all:
        chosen, why, why_not = parts, "--all", ""
    elif files is None:
        chosen, why, why_not = parts, commit, ""
    else:
        chosen, whole = choose(parts, files)
        why = f"{whole} may break everything" if whole else None
        why_not = f"no change since {commit[:10]}" if commit else "no file of it"
    if options.labels:
        print(labels_left(parts, chosen))
        return 0
    for name in parts:
        if name not in ("everything", "always"):
            print(f"run {name}: {why or chosen[name]}" if name in chosen else f"leave {name}: {why_not}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
