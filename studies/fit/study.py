#!/usr/bin/env python3
"""Trainings that xMem's authors ran on real GPUs, on the stand-in: how much memory each needed there and here.

    study.py [--set train|first|second|more|third] [--results FILE] [--jobs N] [--memprof PATH] [--python PATH] [ROW…]

Runs what FILE does not have yet, and prints the table: relative error of the bytes, by family, beside the estimates
that the authors published; and how often "fits" or "runs out of memory" was right. The Python needs PyTorch 2.6.0,
torchvision 0.21.0 and transformers."""
import argparse
import concurrent.futures
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import rows as rows_of
from train import CONVOLUTIONAL

HERE = pathlib.Path(__file__).resolve().parent
SIMULATED = {"3060": "RTX3060-12GB", "4060": "RTX4060"}
RUN_SECONDS = 600


def family(row):
    return "convolutional" if row.model in CONVOLUTIONAL else "transformer"


def predicted(result):
    """What NVML would have shown beyond its first sample: bytes."""
    code = result["beside"] - result["first_beside"] if "first_beside" in result else 0
    return result["reserved"] - result.get("first_reserved", 0) + code


def run_row(row, memprof, python):
    command = [memprof, "run", f"--sim=gpu={SIMULATED[row.gpu]}", "-o"]
    training = [python, str(HERE / "train.py"), "--model", row.model, "--optimizer", row.optimizer,
                "--batch", str(row.batch), "--zero-grad", str(row.zero_grad)]
    with tempfile.TemporaryDirectory() as folder:
        try:
            run = subprocess.run([*command, f"{folder}/x.mprof", "--", *training], capture_output=True, text=True,
                                 timeout=RUN_SECONDS, env=os.environ)
            return json.loads(run.stdout.splitlines()[-1])
        except subprocess.TimeoutExpired:
            return {"failed": f"took longer than {RUN_SECONDS} s"}
        except (IndexError, json.JSONDecodeError):
            return {"failed": f"status {run.returncode}: {(run.stderr.splitlines() or [''])[-1]}"}


def summary(errors):
    """n, median and 90th percentile of relative errors, in percent."""
    if not errors:
        return f"{0:4}{'-':>8}{'-':>8}"
    ordered = sorted(errors)
    high = ordered[min(len(ordered) - 1, int(0.9 * len(ordered)))]
    return f"{len(ordered):4}{100 * statistics.median(ordered):7.1f}%{100 * high:7.1f}%"


def table(rows, results):
    """The lines of the table. Errors are of the rows that fitted, really and here; tools' of those they estimated."""
    done = [row for row in rows if "failed" not in results.get(row.id, {"failed": ""})]
    lines = [f"{'':14}{'':12}{'n':>4}{'median':>8}{'p90':>8}   right verdicts"]
    for kind in ("all", "convolutional", "transformer"):
        some = [row for row in done if kind in ("all", family(row))]
        fitting = [row for row in some if not row.oom]
        both = [row for row in fitting if not results[row.id]["oom"]]
        errors = [abs(predicted(results[row.id]) - row.truth) / row.truth for row in both]
        right = sum(results[row.id]["oom"] == row.oom for row in some)
        lines.append(f"{kind:14}{'stand-in':12}{summary(errors)}   {right} of {len(some)}")
        for tool in rows_of.TOOLS:
            errors = [abs(row.estimates[tool] - row.truth) / row.truth for row in fitting
                      if row.estimates[tool] and row.estimates[tool] > 0]
            judged = [row for row in some if row.verdicts[tool] is not None]
            right = sum(row.verdicts[tool] == row.oom for row in judged)
            if judged:
                lines.append(f"{'':14}{tool:12}{summary(errors)}   {right} of {len(judged)}")
    return lines


def line_of(row, result):
    head = f"{row.id:12}{row.model[:24]:25}{row.optimizer:8}{row.batch:5} {row.gpu:10}"
    if "failed" in result:
        return f"{head} failed: {result['failed']}"
    real, here = ("oom" if flag else "fits" for flag in (row.oom, result["oom"]))
    difference = predicted(result) - row.truth
    return (f"{head}{row.truth / (1 << 20):9.0f} MiB {real:5}{difference / (1 << 20):+8.0f} MiB "
            f"{100 * difference / row.truth:+6.1f}% {here}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", metavar="ROW", help="ids; all if left out")
    parser.add_argument("--set", choices=rows_of.SETS)
    parser.add_argument("--results", type=pathlib.Path, default=pathlib.Path("fit.json"))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--memprof", default="build/bin/memprof")
    parser.add_argument("--python", default="build/torch/venv-torch__2.6.0/bin/python")
    arguments = parser.parse_args()
    rows = [row for row in rows_of.read_rows() if arguments.set in (None, row.set)
            and (not arguments.rows or row.id in arguments.rows)]
    results = json.loads(arguments.results.read_text()) if arguments.results.exists() else {}
    missing = [row for row in rows if "failed" in results.get(row.id, {"failed": ""})]
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        runs = pool.map(lambda row: run_row(row, arguments.memprof, arguments.python), missing)
        for row, result in zip(missing, runs):
            results[row.id] = result
            arguments.results.write_text(json.dumps(results, indent=1) + "\n")
    for row in rows:
        print(line_of(row, results[row.id]))
    print("", *table(rows, results), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
