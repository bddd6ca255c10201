#!/usr/bin/env python3
"""Whether the tests that scripts/test chooses for a change find a fault in it.

usage: studies/faults/study.py [--tree FOLDER] [--packages FOLDER] [--baseline] [--only NAME…] [--list]

Each folder with code has one fault (faults.txt). They are planted in a copy of the checkout, which is built once; then the
Release tests that are chosen for a change of the fault's file run with this fault on, until one fails: twice with it,
and not without. The status is 1 if a fault was not caught, or does not fit its file any more.

--tree FOLDER      where the copy is made and built (default build/faults; 3 GB). Only what changed is built again
--packages FOLDER  a build folder with what scripts/test set up: the toolkit, PyTorch and so on (default build)
--baseline         first all tests with no fault on; those that fail are left out from then on
--only NAME…       these faults
--list             say what the faults are, and which folders have none
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile
import time

import planted

sys.path.insert(0, os.path.join(planted.ROOT, "tests"))
import choose  # noqa: E402
import results  # noqa: E402

NONE = "none"
# Makes packages of everything, and chroots: last.
SLOW = "install.releases"
# In the copy, the texts that this compares with have changed.
NEVER = "faults_study.planted"
# What ctest is to run first, of the chosen tests, in turn; of analysis, those of the module before.
INTEGRATION = ("-R", "^integration_test")
NEAR = {"analysis": [("-R", r"^analysis\.")],
        "cli": [("-R", r"^cli\."), INTEGRATION],
        "viewer": [("-R", r"^viewer\.")],
        "libmemprof": [("-L", "^in-libmemprof"), INTEGRATION],
        "cupti_hooks": [("-L", "^in-cupti")],
        "holders": [("-L", "^(in-)?holders"), ("-R", r"^python\.holders")],
        "proto": [("-L", "^in-proto")],
        "simcuda": [("-L", "^in-simcuda"), ("-R", r"^torch\.(cudnn|elf_library|libraries)$")],
        "demo_trainer": [("-L", "^in-demo_trainer")],
        "python": [("-R", r"^(python|fleet|mcp)\."), ("-R", r"^trainers\.")],
        "packaging": [("-R", r"^packaging\."), ("-R", r"^install\.prefix")],
        "scripts": [("-R", r"^(install\.prefix|torch\.|gpu_check\.)")]}
CODE = (".cc", ".c", ".cu", ".py")
TOPS = ("analysis", "cli", "cupti_hooks", "demo_trainer", "holders", "libmemprof", "packaging", "proto", "python", "simcuda",
        "viewer")


def checkout_files():
    listed = subprocess.run(["git", "-C", planted.ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                            check=True, capture_output=True, text=True).stdout
    return [file for file in dict.fromkeys(listed.split("\0")[:-1])
            if os.path.lexists(os.path.join(planted.ROOT, file))]


def folders_without(faults):
    """Folders of sources that have no fault."""
    named = {fault.name for fault in faults}
    folders = {os.path.dirname(file) for file in checkout_files() if file.split("/")[0] in TOPS and file.endswith(CODE)}
    return sorted({folder.removesuffix("/internal") for folder in folders} - named)


def write_if_changed(path, content, mode):
    try:
        with open(path, "rb") as file:
            if file.read() == content:
                return
    except OSError:
        pass
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)
    os.chmod(path, mode)


def copy_checkout(tree, files):
    """The checkout with the planted files. What is the same already keeps its time."""
    names = checkout_files()
    for name in names:
        source, target = os.path.join(planted.ROOT, name), os.path.join(tree, name)
        if os.path.islink(source):
            if not os.path.islink(target):
                os.makedirs(os.path.dirname(target), exist_ok=True)
                os.symlink(os.readlink(source), target)
            continue
        if name in files:
            content = files[name].encode()
        else:
            with open(source, "rb") as file:
                content = file.read()
        write_if_changed(target, content, os.stat(source).st_mode & 0o777)
    kept = os.path.join(tree, "build", "copied.txt")
    if os.path.exists(kept):
        with open(kept, encoding="utf-8") as file:
            for gone in set(file.read().split("\0")) - set(names) - {""}:
                if os.path.lexists(os.path.join(tree, gone)):
                    os.remove(os.path.join(tree, gone))
    write_if_changed(kept, "\0".join(names).encode(), 0o644)


def link_packages(tree, packages):
    """What scripts/test fetched is not fetched again. Stand-ins for PyTorch's libraries are made for each build."""
    linked = [(name, name) for name in ("cuda", "fleet", "drivers", "chroots")]
    torch = os.path.join(packages, "torch")
    if os.path.isdir(torch):
        linked += [(f"torch/{name}",) * 2 for name in os.listdir(torch) if re.fullmatch(r"venv[^/]*(?<!\.new)", name)]
    for source, target in linked:
        source, target = os.path.abspath(os.path.join(packages, source)), os.path.join(tree, "build", target)
        if os.path.exists(source) and not os.path.lexists(target):
            os.makedirs(os.path.dirname(target), exist_ok=True)
            os.symlink(source, target)


def build(tree):
    subprocess.run(["scripts/build", "--all"], cwd=tree, check=True)
    if os.path.exists(os.path.join(tree, "build", "torch", "venv")):
        subprocess.run(["scripts/torch-sim", "--setup"], cwd=tree, check=True)


def one_of(names):
    return "^(" + "|".join(re.sub(r"([][.+*?()^$|\\])", r"\\\1", name) for name in sorted(names)) + ")$"


class Suite:
    """The tests of the copy."""

    def __init__(self, tree):
        self.tree = tree
        self.ignored = {NEVER}  # tests

    def failed(self, fault, *options):
        """The tests that fail, with this fault on."""
        with tempfile.TemporaryDirectory() as folder:
            report = os.path.join(folder, "report.xml")
            run = subprocess.run(
                ["ctest", "--preset", "release", "-j", str(os.cpu_count() + 1), "--no-tests=ignore", "--output-junit", report,
                 *options], cwd=self.tree, capture_output=True, text=True, check=False,
                env={**os.environ, "QT_QPA_PLATFORM": "offscreen", planted.VARIABLE: fault})
            if not os.path.exists(report):
                raise RuntimeError(f"ctest failed: {(run.stderr or run.stdout).strip()[-500:]}")
            with open(report, encoding="utf-8") as file:
                if "<testcase" not in file.read():
                    return []
            return [entry.name for entry in results.read("release=" + report) if entry.failed]

    def baseline(self):
        failed = self.failed(NONE, "-E", one_of(self.ignored | {SLOW}))
        self.ignored.update(failed)
        return failed

    def catches(self, fault, chosen):
        """The test that fails because of the fault, of those that are chosen for a change of its file; None if none
        does."""
        for options, left_out in stages(fault.name):
            while failed := self.failed(fault.name, "--stop-on-failure", *chosen, *options, "-E",
                                        one_of(self.ignored | left_out)):
                always = set(failed) & set(self.failed(NONE, "-R", one_of(failed)))
                self.ignored |= always
                only_with_it = set(failed) - always
                again = self.failed(fault.name, "-R", one_of(only_with_it)) if only_with_it else []
                if caught := only_with_it & set(again):
                    return min(caught)
                left_out = left_out | only_with_it  # by chance
        return None


def stages(name):
    """What runs one after the other: options for ctest, and the tests left out."""
    top, *below = name.split("/")
    if top == "analysis" and below:
        yield ("-R", rf"^analysis\.{below[0]}\."), {SLOW}
    for near in NEAR.get(top, []):
        yield near, {SLOW}
    yield (), {SLOW}
    yield ("-R", one_of([SLOW])), set()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     usage=argparse.SUPPRESS)
    parser.add_argument("--tree", default=os.path.join(planted.ROOT, "build", "faults"))
    parser.add_argument("--packages", default=os.path.join(planted.ROOT, "build"))
    parser.add_argument("--baseline", action="store_true")
    parser.add_argument("--only", nargs="+", metavar="NAME")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    faults = planted.all_faults()
    if options.list:
        for fault in faults:
            print(f"{fault.name}: {fault.what} ({fault.file})")
        for folder in folders_without(faults):
            print(f"{folder}: no fault")
        return 0
    files, problems = planted.planted_files(faults)
    if problems:
        print("these faults do not fit their files any more (studies/faults/faults.txt):", *problems, sep="\n")
        return 1
    chosen = [fault for fault in faults if options.only is None or fault.name in options.only]
    unknown = set(options.only or ()) - {fault.name for fault in faults}
    if unknown:
        parser.error(f"there is no fault {', '.join(sorted(unknown))}")
    tree = os.path.abspath(options.tree)
    copy_checkout(tree, files)
    link_packages(tree, options.packages)
    build(tree)
    return judge(Suite(tree), chosen, options.baseline)


def judge(suite, faults, baseline):
    if baseline:
        failed = suite.baseline()
        print(f"without a fault {len(failed)} tests fail", *failed, sep="\n  ", flush=True)
    with open(os.path.join(planted.ROOT, "tests", "parts.txt"), encoding="utf-8") as file:
        parts = choose.read_parts(file.read())
    caught = 0
    for fault in faults:
        begun = time.monotonic()
        labels = choose.labels_left(parts, choose.choose(parts, [fault.file])[0])
        name = suite.catches(fault, ("-LE", labels))
        caught += name is not None
        words = f"caught by {name}" if name else f"NOT CAUGHT ({fault.what})"
        print(f"{fault.name}: {words} ({time.monotonic() - begun:.0f} s)", flush=True)
    never = suite.ignored - {NEVER}
    if never:
        print("left out, because they fail without a fault, too: " + ", ".join(sorted(never)))
    print(f"{caught} of {len(faults)} faults caught")
    return 0 if caught == len(faults) else 1


if __name__ == "__main__":
    sys.exit(main())
