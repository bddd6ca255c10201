"""Shared by the benchmark scripts: paths of programs, running a program and measuring its CPU time, medians
with their spread, and results as a table and as JSON."""
import json
import os
import platform
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def add_arguments(parser, rounds):
    parser.add_argument("--build", type=Path, default=ROOT / "build", help="the build folder (build)")
    parser.add_argument("--rounds", type=int, default=rounds, help=f"repeats of everything ({rounds})")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures there too")


def fail(message):
    sys.exit(f"{Path(sys.argv[0]).name}: {message}")


class Process:
    """A started program; wait() returns its output, and the CPU seconds that it and its children used."""

    def __init__(self, command, environment=None, stdin=None, stdout=subprocess.PIPE):
        self.command = [str(word) for word in command]
        self.child = subprocess.Popen(self.command, env={**os.environ, **(environment or {})}, stdin=stdin,
                                      stdout=stdout, stderr=subprocess.PIPE, text=True)

    def wait(self):
        output = self.child.stdout.read() if self.child.stdout else ""
        errors = self.child.stderr.read()
        _, status, usage = os.wait4(self.child.pid, 0)
        self.child.returncode = os.waitstatus_to_exitcode(status)
        if self.child.returncode != 0:
            fail(f"{' '.join(self.command)} ended with {self.child.returncode}: {errors.strip()}")
        return output, usage.ru_utime + usage.ru_stime


def figures(line):
    """{"wall_ns": 12.5} of "wall_ns=12.5"."""
    return {key: float(value) for key, value in (pair.split("=") for pair in line.split())}


class Spread:
    """Median, minimum and maximum of several measurements."""

    def __init__(self, values):
        self.median, self.least, self.most = statistics.median(values), min(values), max(values)

    def __format__(self, form):
        return f"{self.median:{form}} [{self.least:{form}} .. {self.most:{form}}]"

    def as_json(self):
        return {"median": self.median, "least": self.least, "most": self.most}


def machine():
    model = next((line.split(":", 1)[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
                  if line.startswith("model name")), platform.machine())
    return {"cpu": model, "cpus": os.cpu_count(), "system": platform.platform(terse=True),
            "load_before": os.getloadavg()[0]}


def print_table(rows):
    """Rows of text, the first of which is the heading; numbers to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        print("  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths)))
    print(flush=True)


def write_json(path, benchmark, options, before, rows):
    if path is None:
        return
    path.write_text(json.dumps({
        "benchmark": benchmark, "command": sys.argv, "machine": before, "load_after": os.getloadavg()[0],
        "options": {key: str(value) for key, value in vars(options).items()}, "rows": rows}, indent=1) + "\n")
