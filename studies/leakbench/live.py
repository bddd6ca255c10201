#!/usr/bin/env python3
"""LeakBench in programs that run: how many steps after a leak begins `memprof run --alert` tells it.

usage: live.py BUILD [--draws N] [--kinds development|held-out|both] [--steps N] [--milliseconds N]
               [--after STEPS] [--cases]

On the stand-in GPU. docs/watch.md has the figures.
"""

import argparse
import bisect
import collections
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

# One line for each alert: when, which kind, and where.
COMMAND = ('printf "%s\\t%s\\t%s\\n" "$(date +%s.%N)" "$MEMPROF_ALERT" "$MEMPROF_ALERT_SITE" '
           '>>"$LEAKBENCH_ALERTS"')


def run(build, options, kinds, seed):
    """[name, truth, the step in which it begins (-1 = never), the step in which it was told (None = never)]"""
    with tempfile.TemporaryDirectory() as folder:
        alerts = os.path.join(folder, "alerts")
        open(alerts, "w").close()
        environment = {name: value for name, value in os.environ.items() if not name.startswith("MEMPROF_")}
        done = subprocess.run(
            [os.path.join(build, "bin/memprof"), "run", "--sim=memory=900GiB", "--cupti", "--alert", COMMAND,
             "--alert-after", str(options.after), "--stack-depth=2", "-o", os.path.join(folder, "run.mprof"), "--",
             os.path.join(build, "bin/leakbench_live"), kinds, str(seed), str(options.steps),
             str(options.milliseconds)],
            env=dict(environment, LEAKBENCH_ALERTS=alerts), capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(done.stderr or "the guest ended with status %d" % done.returncode)
        told = {}
        with open(alerts) as lines:
            for line in lines:
                when, kind, site = line.rstrip("\n").split("\t")
                place = re.search(r"Place<\d+ul>", site)
                if kind != "leak" or not place:
                    sys.exit("an alert of another kind or place: " + line)
                told.setdefault(place.group(), float(when))
        result = json.loads(done.stdout)
        step = lambda when: bisect.bisect(result["begins"], when) - 1
        return [(case["name"], case["truth"], case["begin"],
                 step(told[case["place"]]) if case["place"] in told else None) for case in result["cases"]]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("--draws", type=int, default=4)
    parser.add_argument("--kinds", choices=["development", "held-out", "both"], default="both")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--milliseconds", type=int, default=200)
    parser.add_argument("--after", type=int, default=0)
    parser.add_argument("--cases", action="store_true")
    options = parser.parse_args()
    kinds = ["development", "held-out"] if options.kinds == "both" else [options.kinds]
    cases = [case for one in kinds for seed in range(options.draws) for case in run(options.build, options, one, seed)]
    leaks = [(name, None if told is None else told - begin) for name, truth, begin, told in cases if truth == "leak"]
    late = sorted(float("inf") if delay is None else delay for _, delay in leaks)
    quantile = lambda share: late[min(int(share * len(late)), len(late) - 1)]
    print("%s, %d draws, %d steps of %d ms, --alert-after %d" %
          (options.kinds, options.draws, options.steps, options.milliseconds, options.after))
    told = sorted(delay for delay in late if delay < float("inf"))
    print("leaks: %d; told how many steps after they begin: median %g, quartiles %g and %g, 90th percentile %g" %
          (len(leaks), statistics.median_low(late), quantile(.25), quantile(.75), quantile(.9)))
    if told:
        print("of these, %d told at all: median %g, latest %g" % (len(told), statistics.median_low(told), told[-1]))
    others = [(name, told) for name, truth, _, told in cases if truth == "none"]
    false = [(name, told) for name, told in others if told is not None]
    print("no leaks: %d, told: %d" % (len(others), len(false)))
    for name, count in sorted(collections.Counter(name for name, _ in false).items()):
        print("  %s: %d of %d, in steps %s" %
              (name, count, options.draws, " ".join(str(told) for other, told in false if other == name)))
    if options.cases:
        for name, delay in sorted(leaks, key=lambda leak: (leak[0], leak[1] is None, leak[1])):
            print("  %-34s %s" % (name, "never" if delay is None else delay))


if __name__ == "__main__":
    main()
