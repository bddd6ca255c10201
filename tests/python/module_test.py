#!/usr/bin/env python3
"""The Python module in a test program, recorded and not recorded.

usage: module_test.py BUILD SOURCE
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

BUILD, SOURCE = (os.path.abspath(path) for path in sys.argv[1:3])
MEMPROF = os.path.join(BUILD, "bin", "memprof")
RUNTIME = os.path.join(BUILD, "simcuda", "libcudart.so.13")
GUEST = os.path.join(SOURCE, "tests", "python", "guest.py")


def environment(**more):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MEMPROF_")}
    kept.update(PYTHONPATH=os.path.join(SOURCE, "python"), MEMPROF_COMMAND=MEMPROF,
                PYTHONDONTWRITEBYTECODE="1", **more)
    return kept


def run(command, **more):
    done = subprocess.run(command, env=environment(**more), capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        raise AssertionError("%s: status %d: %s" % (command, done.returncode, done.stderr))
    return done.stdout


class Recorded(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.log = os.path.join(cls.folder.name, "a b.mprof")
        text = run([MEMPROF, "run", "-o", cls.log, "--sim=memory=1GiB", "--", sys.executable,
                    GUEST, RUNTIME])
        cls.said = json.loads(text.splitlines()[-1])

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def dump(self):
        lines = run([MEMPROF, "dump", "--json", self.log]).splitlines()
        return [json.loads(line) for line in lines if line.startswith("{")]

    def test_report_of_the_run_so_far(self):
        report = self.said["report"]
        self.assertEqual(report["devices"][0]["peak_bytes"], 5 << 20)
        self.assertEqual(report["devices"][0]["live_bytes"], 3 << 20)
        self.assertFalse(report["complete"])

    def test_knows_its_log(self):
        self.assertEqual(self.said["log"], self.log)

    def test_stops_and_starts(self):
        self.assertTrue(self.said["started"])
        self.assertTrue(self.said["recording"])
        self.assertFalse(self.said["stopped"])
        # Memory allocated while recording was stopped is not in the log.
        self.assertEqual(set(self.said["stats"]), {"events", "events_lost", "allocations", "frees", "live_bytes",
                                                   "peak_bytes", "log_bytes", "recording"})
        self.assertEqual(self.said["stats"]["live_bytes"], 3 << 20)
        self.assertEqual(self.said["stats"]["peak_bytes"], 5 << 20)
        self.assertEqual(self.said["stats"]["events_lost"], 0)

    def test_steps_ranges_and_snapshots_are_in_the_log(self):
        events = self.dump()
        text = json.dumps(events, ensure_ascii=False)
        self.assertEqual(sum(1 for e in events if e.get("op") == "step"), 3)
        self.assertIn("größer", text)
        self.assertIn("after three", text)
        self.assertEqual(sum(1 for e in events if e.get("op") == "range_push"),
                         sum(1 for e in events if e.get("op") == "range_pop"))

    def test_the_log_ends_well(self):
        report = json.loads(run([MEMPROF, "report", "--json", self.log]))
        self.assertTrue(report["complete"])
        self.assertEqual(report["steps"], 3)


class NotRecorded(unittest.TestCase):
    def test_nothing_happens(self):
        said = json.loads(run(
            [sys.executable, GUEST, RUNTIME], SIMCUDA="memory=1GiB",
            LD_LIBRARY_PATH=os.path.join(BUILD, "simcuda")).splitlines()[-1])
        self.assertEqual(said, {"before": False, "stopped": False, "started": False,
                                "recording": False,
                                "stats": None, "log": None, "report": None})

    def test_exceptions_pass_through_a_range(self):
        code = ("import memprof\n"
                "try:\n"
                "  with memprof.range('x'): raise KeyError('mine')\n"
                "except KeyError as error: print(error)\n")
        self.assertEqual(run([sys.executable, "-c", code]).strip(), "'mine'")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
