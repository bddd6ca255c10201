#!/usr/bin/env python3
"""Judges `memprof holders PID` on cases that stand still, so that their memory has to be read from outside.

    judge_stopped.py --memprof MEMPROF --python PYTHON [--how stop|hang] [--gpu] [--half HALF] [--all-named] [CASE…]

A case is `named` if one holder has its words, and it and the others with them hold at least half of the bytes that the
case states. Cases that are not of Python's objects alone (judge.py) are run if they are named."""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

from judge import ENVIRONMENT, HALVES, all_cases, has_words

HERE = pathlib.Path(__file__).resolve().parent
AT_ONCE = 6
LEAST = 0.5  # some cases keep less until they stop


def judge(case, held):
    """(outcome, a line)"""
    right = [holder for holder in held["holders"] if any(has_words(holder, words) for words in case.names)]
    if sum(holder["bytes"] for holder in right) >= LEAST * case.bytes:
        return "named", right[0]["path"]
    return ("wrong" if held["holders"] else "missing"), (held["holders"] or [{"path": ""}])[0]["path"]


def run(cases, memprof, python, how, stand_in):
    """Yields (case, outcome, line)."""
    with tempfile.TemporaryDirectory() as folder:
        command = [memprof, "run", *stand_in, "-o", f"{folder}/%p.mprof", "--", python, str(HERE / "stopped.py"), how,
                   *(case.name for case in cases)]
        by_name = {case.name: case for case in cases}
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              text=True, env=ENVIRONMENT) as program:
            while by_name:
                words = program.stdout.readline().split()
                if not words:
                    break
                if words[0] not in ("ready", "failed") or words[1] not in by_name:
                    continue
                case = by_name.pop(words[1])
                if words[0] == "failed":
                    yield case, "failed", "it raised an error"
                    continue
                # A process that hangs does not answer: it has no agent.
                held = subprocess.run([memprof, "holders", "--json", "--top", "0", words[2]], capture_output=True,
                                      text=True, timeout=100, check=False)
                if held.returncode:
                    yield case, "failed", held.stderr.strip()
                else:
                    yield (case, *judge(case, json.loads(held.stdout)))
            program.communicate("\n")
        for case in by_name.values():
            yield case, "failed", "it ended"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--memprof", required=True)
    parser.add_argument("--python", required=True)
    parser.add_argument("--how", choices=("stop", "hang"), default="stop")
    parser.add_argument("--gpu", action="store_true", help="on this machine's GPU, not on the stand-in")
    parser.add_argument("--half", choices=HALVES)
    parser.add_argument("--all-named", action="store_true")
    parser.add_argument("cases", nargs="*")
    options = parser.parse_args()
    if not pathlib.Path(options.python).exists():
        print("skipped: no PyTorch is set up; scripts/torch-sim --setup makes one")
        return 77
    chosen = [case for case in all_cases() if case.name in options.cases or (
        not options.cases and options.half in (None, case.half) and "python" in case.kinds)]
    counts = {}
    for at in range(0, len(chosen), AT_ONCE):
        for case, outcome, line in run(chosen[at:at + AT_ONCE], options.memprof, options.python, options.how,
                                       [] if options.gpu else ["--sim"]):
            counts[outcome] = counts.get(outcome, 0) + 1
            print(f"{outcome:8}{case.half:7} {case.name:27} {line}", flush=True)
    print(", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items())))
    return 1 if options.all_named and (set(counts) != {"named"} or len(chosen) != len(options.cases)) else 0


if __name__ == "__main__":
    sys.exit(main())
