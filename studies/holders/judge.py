#!/usr/bin/env python3
"""Judges the holders that `memprof run --holders` finds, on programs that state at their head which variable keeps
their memory: cases/NAME.py, or cases/NAME/main.py for programs of several files.

    # half: first              or second: not looked at while the finder is changed; third, fourth, fifth, sixth,
                               seventh: written without sight of it
    # kind: python             or autograd, cycle, c++; where two are right, the one it is counted under comes first
    # names: predictions metrics   words that the path and root of one holder must have, all of them
    # or: predictions Accuracy     other words that are as good
    # bytes: 16777216          about what is kept at the last step

A case is `named` if one holder has the right kind and the words, `wrong` if there are holders but no such one,
`missing` if there are none, `failed` if the program or its recording failed."""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from typing import NamedTuple

CASES = pathlib.Path(__file__).resolve().parent / "cases"
KINDS = ("python", "autograd", "cycle", "c++")
HALVES = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh")
OUTCOMES = ("named", "wrong", "missing", "failed")
COVERED = 0.9  # of the bytes of a case: the last step may lack, or be another leak
SMALL = 0.05  # of the bytes of a case: survivors below are the program's own, as its model is
RUN_SECONDS = 180
# The workspace that a GPU's cuBLAS keeps, 64 MiB on Hopper, would be the largest survivor.
ENVIRONMENT = {**os.environ, "CUBLAS_WORKSPACE_CONFIG": ":16:8"}


class Case(NamedTuple):
    name: str
    path: pathlib.Path
    half: str
    kinds: tuple
    names: tuple  # of tuples of words
    bytes: int


class Verdict(NamedTuple):
    case: str
    half: str
    kind: str
    outcome: str
    rank: int  # place of the holder among those given, 1 the first; 0 if none is right
    given: int
    kept: int
    holder: dict


def read_case(path):
    """The case of a program; ValueError if its head is not complete."""
    fields = {"or": []}
    for line in path.read_text().splitlines():
        match = re.fullmatch(r"# (half|kind|names|or|bytes): *(.+)", line)
        if not match:
            break
        if match[1] == "or":
            fields["or"].append(match[2])
        else:
            fields[match[1]] = match[2]
    missing = {"half", "kind", "names", "bytes"} - set(fields)
    if missing:
        raise ValueError(f"{path}: the head lacks {', '.join(sorted(missing))}")
    kinds = tuple(fields["kind"].split())
    if fields["half"] not in HALVES or not set(kinds) <= set(KINDS) or not fields["bytes"].isdigit():
        raise ValueError(f"{path}: the head has an unknown half, kind or number of bytes")
    name = path.parent.name if path.name == "main.py" else path.stem
    names = tuple(tuple(words.split()) for words in [fields["names"], *fields["or"]])
    return Case(name, path, fields["half"], kinds, names, int(fields["bytes"]))


def all_cases():
    paths = [*CASES.glob("*.py"), *CASES.glob("*/main.py")]
    return sorted((read_case(path) for path in paths), key=lambda case: case.name)


def largest_survivors(leaks, wanted):
    """The entries of `leaks --json` that kept most at the end, as many as have the wanted bytes together."""
    entries = sorted([*leaks.get("leaks", []), *leaks.get("live_at_exit", [])],
                     key=lambda entry: entry.get("bytes", 0), reverse=True)
    taken, kept = [], 0
    for entry in entries:
        if kept >= COVERED * wanted or entry.get("bytes", 0) < SMALL * wanted:
            break
        taken.append(entry)
        kept += entry.get("bytes", 0)
    return taken, kept


def has_words(holder, words):
    text = f"{holder.get('path', '')} {holder.get('root', '')}"
    return all(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) for word in words)


def judge(case, leaks):
    taken, kept = largest_survivors(leaks, case.bytes)
    holders = [holder for entry in taken for holder in entry.get("holders") or []]
    right = [holder for holder in holders
             if holder.get("kind") in case.kinds and any(has_words(holder, words) for words in case.names)]
    outcome = "named" if right else "wrong" if holders else "missing"
    shown = right[0] if right else holders[0] if holders else {}
    rank = holders.index(right[0]) + 1 if right else 0
    return Verdict(case.name, case.half, case.kinds[0], outcome, rank, len(holders), kept, shown)


def failed(case, why):
    return Verdict(case.name, case.half, case.kinds[0], "failed", 0, 0, 0, {"path": why})


def run_case(case, memprof, python, gpu=False):
    stand_in = [] if gpu else ["--sim"]
    with tempfile.TemporaryDirectory() as folder:
        log = f"{folder}/case.mprof"
        try:
            run = subprocess.run([memprof, "run", "--holders", *stand_in, "-o", log, "--", python, str(case.path)],
                                 capture_output=True, text=True, timeout=RUN_SECONDS, env=ENVIRONMENT)
            if run.returncode:
                return failed(case, f"status {run.returncode}: {(run.stderr.splitlines() or [''])[-1]}")
            leaks = subprocess.run([memprof, "leaks", "--json", log], capture_output=True, text=True,
                                   timeout=RUN_SECONDS)
            return judge(case, json.loads(leaks.stdout))
        except subprocess.TimeoutExpired:
            return failed(case, f"took longer than {RUN_SECONDS} s")
        except json.JSONDecodeError:
            return failed(case, f"no JSON: {(leaks.stderr.splitlines() or [''])[-1]}")


def line_of(verdict):
    holder = verdict.holder
    text = holder.get("path", "")
    if holder.get("root") and holder["root"] not in text:
        text += f" | {holder['root']}"
    if "kind" in holder:
        text = f"[{holder['kind']}] {text}"
    place = f"{verdict.rank}/{verdict.given}" if verdict.given else ""
    return (f"{verdict.outcome:8}{verdict.half:7} {verdict.kind:9}{verdict.case:27}"
            f"{verdict.kept / (1 << 20):6.1f} MiB {place:>5}  {text}")


def totals(verdicts):
    """Lines with the number of each outcome, by half and kind."""
    lines = [f"{'half':8}{'kind':10}{'cases':>6}" + "".join(f"{outcome:>9}" for outcome in OUTCOMES)]
    for half in HALVES:
        for kind in (*KINDS, "all"):
            some = [v.outcome for v in verdicts if v.half == half and kind in (v.kind, "all")]
            if some:
                lines.append(f"{half:8}{kind:10}{len(some):>6}"
                             + "".join(f"{some.count(outcome):>9}" for outcome in OUTCOMES))
    return lines


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE", help="names; all if left out")
    parser.add_argument("--half", choices=HALVES)
    parser.add_argument("--memprof", default="build/bin/memprof")
    parser.add_argument("--python", default="build/torch/venv/bin/python", help="one that has PyTorch")
    parser.add_argument("--gpu", action="store_true", help="on this machine's GPU, not on the stand-in")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", metavar="FILE", help="write the verdicts there too")
    parser.add_argument("--all-named", action="store_true",
                        help="the status is 1 if a case is not named, 77 if there is no such Python")
    arguments = parser.parse_args()
    cases = all_cases()
    unknown = set(arguments.cases) - {case.name for case in cases}
    if unknown:
        parser.error(f"no such case: {', '.join(sorted(unknown))}")
    if arguments.jobs < 1:
        parser.error("--jobs must be at least 1")
    return arguments, [case for case in cases if (not arguments.cases or case.name in arguments.cases)
                       and arguments.half in (None, case.half)]


def main():
    arguments, cases = parse_arguments()
    if arguments.all_named and not pathlib.Path(arguments.python).exists():
        return 77
    verdicts = []
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for verdict in pool.map(lambda case: run_case(case, arguments.memprof, arguments.python, arguments.gpu), cases):
            verdicts.append(verdict)
            print(line_of(verdict), flush=True)
    print("", *totals(verdicts), sep="\n")
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps([v._asdict() for v in verdicts], indent=1) + "\n")
    return 1 if arguments.all_named and any(verdict.outcome != "named" for verdict in verdicts) else 0


if __name__ == "__main__":
    sys.exit(main())
