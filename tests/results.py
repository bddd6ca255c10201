#!/usr/bin/env python3
"""What the suites found, from the JUnit files that ctest writes.

usage: results.py [--slowest N] [NAME=FILE…]

Prints each failure with the lines that tell it, and at the end "N passed, N failed", in cases: a program of GoogleTest
is one entry of ctest and says itself how many it ran. The status is 1 if one failed or none was run.
"""
import argparse
import re
import sys
import xml.etree.ElementTree as ElementTree

COUNT = re.compile(r"^\[  (PASSED|SKIPPED) +\] (\d+) tests?[.,]", re.M)
FAILED = re.compile(r"^\[  FAILED  \] (\S+\.\S+)", re.M)
FAILURE = re.compile(r": Failure$|AddressSanitizer|ThreadSanitizer|runtime error:|^Traceback|^FAIL|Error\b")
MOST_LINES = 40


class Entry:
    def __init__(self, suite, node):
        self.suite, self.name, self.seconds = suite, node.get("name"), float(node.get("time") or 0)
        self.output = node.findtext("system-out") or ""
        self.status = node.get("status")
        counts = {"PASSED": 0, "SKIPPED": 0}
        for kind, count in COUNT.findall(self.output):
            counts[kind] += int(count)
        self.passed, self.failed, self.skipped = counts["PASSED"], 0, counts["SKIPPED"]
        if self.status == "fail":
            self.failed = max(len(set(FAILED.findall(self.output))), 1)
        elif self.status != "run":
            self.passed, self.skipped = 0, 1
        elif not self.skipped:
            self.passed = max(self.passed, 1)

    def tells(self):
        """The lines of the output that tell the failure: around each that looks like one, or the last."""
        lines = [line for line in self.output.splitlines() if not line.startswith(("[====", "[  PASSED"))]
        near = set()
        for number, line in enumerate(lines):
            if FAILURE.search(line):
                near.update(range(number, min(number + 10, len(lines))))
            elif FAILED.match(line):
                near.add(number)
        return [lines[n] for n in sorted(near)][:MOST_LINES] if near else lines[-MOST_LINES:]


def read(argument):
    suite, path = argument.split("=", 1)
    entries = [Entry(suite, node) for node in ElementTree.parse(path).getroot().iter("testcase")]
    if not entries:
        sys.exit(f"no tests ran ({suite})")
    return entries


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1].removeprefix("usage: "))
    parser.add_argument("--slowest", type=int, default=0)
    parser.add_argument("files", nargs="*")
    options = parser.parse_args()
    entries = [entry for argument in options.files for entry in read(argument)]
    for entry in entries:
        if entry.failed:
            print(f"==> failed ({entry.suite}): {entry.name}", *entry.tells(), sep="\n")
    if options.slowest:
        slowest = sorted(entries, key=lambda e: -e.seconds)[:options.slowest]
        print("slowest: " + ", ".join(f"{e.name} ({e.suite}) {e.seconds:.0f} s" for e in slowest))
    skipped = sum(entry.skipped for entry in entries)
    if skipped:
        print(f"skipped, for want of what they need: {skipped}")
    passed, failed = sum(e.passed for e in entries), sum(e.failed for e in entries)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
