#!/usr/bin/env python3
"""Records the cases on the stand-in GPU: a folder each in OUT. What is there already is not recorded again.

usage: record.py --memprof build/bin/memprof --demo build/bin/demo_trainer --python PYTHON OUT [CASE…]

PYTHON has PyTorch (build/torch/venv/bin/python, which scripts/torch-sim sets up)."""
import argparse
import pathlib
import subprocess
import sys
import time

import cases


def record(case, options, folder):
    part = folder.with_suffix(".part")
    part.mkdir(parents=True, exist_ok=True)
    for number, arguments in enumerate(case.runs):
        program = [options.demo] if case.program is None else [options.python, "-B", str(case.program)]
        log = part / f"{number}.mprof"
        with open(part / "output.txt", "ab") as output:  # a program that runs out of memory fails, as it should
            subprocess.run([options.memprof, "run", *case.options, "-o", log, "--", *program, *arguments],
                           stdout=output, stderr=output, stdin=subprocess.DEVNULL, timeout=300, check=False)
        if not log.exists():
            raise RuntimeError(f"{case.name}: no log; see {part}/output.txt")
        if number + 1 < len(case.runs):
            time.sleep(1.5)  # the runs come after each other, to the second
    part.rename(folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    for option in ("memprof", "demo", "python"):
        parser.add_argument("--" + option, required=True)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("only", nargs="*", metavar="CASE")
    options = parser.parse_args()
    table = subprocess.run([options.demo, "--leak", "list"], capture_output=True, text=True, check=True).stdout
    every = [*cases.made(), *cases.held(), *cases.seeded(table)]
    bad = 0
    for case in every:
        folder = options.out / case.name
        if folder.exists() or options.only and case.name not in options.only:
            continue
        try:
            record(case, options, folder)
            print(case.name, flush=True)
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            bad += 1
            print(error, file=sys.stderr, flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
