#!/usr/bin/env python3
"""memprof.profile and memprof.phase in a program that counts its own memory, recorded and not recorded.

usage: profile_test.py BUILD SOURCE
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

BUILD, SOURCE = (os.path.abspath(path) for path in sys.argv[1:3])
MEMPROF = os.path.join(BUILD, "bin", "memprof")
RUNTIME = os.path.join(BUILD, "simcuda", "libcudart.so.13")
GUEST = os.path.join(SOURCE, "tests", "python", "profile_guest.py")
NOTES = sys.version_info >= (3, 11)
sys.path.insert(0, os.path.join(SOURCE, "python"))
from memprof import _profile  # pylint: disable=wrong-import-position


def run(command, **more):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MEMPROF_", "TORCHELASTIC"))}
    kept.update({"PYTHONPATH": os.path.join(SOURCE, "python"), "MEMPROF_COMMAND": MEMPROF,
                 "PYTHONDONTWRITEBYTECODE": "1", **more})
    done = subprocess.run(command, env=kept, capture_output=True, text=True, check=False, timeout=120)
    if done.returncode != 0:
        raise AssertionError("%s: status %d: %s" % (command, done.returncode, done.stderr))
    return done


class Recorded(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.log = os.path.join(cls.folder.name, "a b.mprof")
        cls.elastic = os.path.join(cls.folder.name, "error.json")
        done = run([MEMPROF, "run", "-o", cls.log, "--sim=devices=2,memory=2GiB", "--", sys.executable, GUEST, RUNTIME,
                    os.path.join(cls.folder.name, "out.%r.json")], RANK="3", TORCHELASTIC_ERROR_FILE=cls.elastic)
        cls.said, cls.errors = json.loads(done.stdout.splitlines()[-1]), done.stderr

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_the_peak_is_that_of_the_block(self):
        self.assertEqual(self.said["peak"][0]["peak_bytes"], self.said["level"])
        self.assertEqual(self.said["peak"][0]["driver_peak_bytes"], self.said["level"])
        self.assertLess(self.said["level"], 256 << 20)
        self.assertEqual(self.said["within"], self.said["peak"])
        self.assertEqual(self.said["after"], self.said["peak"])
        sites = self.said["peak"][0]["sites"]
        self.assertEqual(sum(site["bytes"] for site in sites), self.said["level"])
        self.assertTrue(any("profile_guest.py:" in site["site"] for site in sites), sites)

    def test_a_block_without_an_allocation_has_the_level_at_its_begin(self):
        self.assertEqual(self.said["at_once"]["peak_bytes"], self.said["now"])
        self.assertEqual(sum(site["bytes"] for site in self.said["at_once"]["sites"]), self.said["now"])

    def test_the_device_with_the_highest_peak_comes_first(self):
        self.assertEqual(self.said["devices"], [1, 0])

    def test_the_peak_of_each_phase_is_what_the_program_counted(self):
        phases = self.said["phases"]
        self.assertEqual({name: phases[name]["peak_bytes"] for name in phases}, self.said["wanted"])
        self.assertEqual([phases[name]["times"] for name in phases], [16, 16])

    def test_leaks_of_the_block(self):
        kept = [leak for leak in self.said["leaks"] if leak["bytes_per_step"] == 1 << 20]
        self.assertEqual(len(kept), 1, self.said["leaks"])
        self.assertEqual((kept[0]["bytes"], kept[0]["blocks"]), (16 << 20, 16))

    def test_the_text_has_ten_lines_at_most(self):
        lines = self.said["text"].split("\n")
        self.assertLessEqual(len(lines), 10)
        self.assertEqual(lines[-1], "  log: " + self.log)
        self.assertIn("phases: ", self.said["text"])
        self.assertIn("per step at ", self.said["text"])

    def test_out_has_the_rank_in_its_name(self):
        with open(os.path.join(self.folder.name, "out.3.json"), encoding="utf-8") as file:
            written = json.load(file)
        self.assertEqual(written["schema"], "memprof.profile/1")
        self.assertEqual(written["peaks"], self.said["peak"])
        self.assertEqual(written["phases"], self.said["phases"])

    def test_out_of_memory_is_explained_and_goes_on_unchanged(self):
        for number in (1, 2):
            text, notes = self.said["error%d" % number]
            self.assertEqual(text, "CUDA error: out of memory")
            if NOTES:
                self.assertEqual(len(notes), 1)
                self.assertIn("out of memory: %d.00 TiB on device 0" % number, notes[0])
                self.assertLessEqual(len(notes[0].split("\n")), 10)
                self.assertIn("memprof " + notes[0], self.errors)  # the logger's name, and the same text
        self.assertEqual(self.errors.count("memprof: out of memory"), 2)
        self.assertIn("requested by too_much (profile_guest.py:", self.errors)

    def test_the_worker_of_torchrun_has_the_text_in_its_folder(self):
        with open(os.path.join(self.folder.name, "memprof.txt"), encoding="utf-8") as file:
            self.assertIn("out of memory: 2.00 TiB", file.read())

    def test_other_exceptions_pass(self):
        self.assertEqual(self.said["other"], ["'mine'", None])
        self.assertIsNone(self.said["unknown"])
        self.assertIn("no report: FileNotFoundError", self.errors)


class NotRecorded(unittest.TestCase):
    def test_says_once_what_to_do(self):
        code = ("import memprof\n"
                "with memprof.profile(on_oom='report', out='/nonexistent/x') as p: pass\n"
                "@memprof.profile()\n"
                "def f(): return 5\n"
                "with memprof.phase('x'): print(f(), f(), p.peak(), p.phases(), p.leaks(), p.holders(), p)\n")
        done = run([sys.executable, "-c", code])
        self.assertEqual(done.stdout, "5 5 [] {} [] [] memprof: nothing was recorded here\n")
        self.assertEqual(done.stderr.count("memprof run -o"), 1)

    def test_out_of_memory_passes(self):
        code = ("import memprof\n"
                "try:\n"
                "  with memprof.profile(on_oom='report'): raise RuntimeError('CUDA error: out of memory')\n"
                "except RuntimeError as error: print(error, getattr(error, '__notes__', None))\n")
        self.assertEqual(run([sys.executable, "-c", code]).stdout, "CUDA error: out of memory None\n")


class Parts(unittest.TestCase):
    def test_sizes(self):
        self.assertEqual([_profile.size(n) for n in (0, 1023, 1536, 20 << 20, 123 << 30, 5 << 50)],
                         ["0 B", "1023 B", "1.50 KiB", "20.0 MiB", "123 GiB", "5.00 PiB"])

    def test_what_is_out_of_memory(self):
        named = type("OutOfMemoryError", (Exception,), {})
        for error, wanted in ((named(), True), (RuntimeError("RESOURCE_EXHAUSTED: x"), True), (MemoryError(), False),
                              (RuntimeError("out of range"), False), (KeyError("out of memory"), False)):
            self.assertEqual(_profile.is_out_of_memory(error), wanted, error)

    def test_a_failure_by_growth_names_the_line_to_change_and_who_keeps_it(self):
        site = {"site": "f (a.py:5)", "bytes": 3 << 20, "blocks": 3}
        failure = {"bytes": 1 << 20, "device": 1, "step": -1, "site": "g (a.py:9)", "why": "Growth:\n x.",
                   "space": {"blocks_bytes": 3 << 20, "direct": {"linear": 1 << 20}}, "sites": [site] * 9,
                   "growth": {"site": "f (a.py:5)", "bytes_per_step": 1 << 20},
                   "holders": [{"path": "list `kept`", "bytes": 3 << 20}],
                   "remedies": [{"words": "no", "fits": False}, {"words": "a", "fits": True},
                                {"words": "b", "fits": True}]}
        row = "    3.00 MiB   75 %      3 blocks  f (a.py:5)"
        wanted = ["memprof: out of memory: 1.00 MiB on device 1, requested by g (a.py:9)", "  Growth: x.",
                  "  in use then: 4.00 MiB, by the line that allocated it:", row, row, row,
                  "  kept by: list `kept` (3.00 MiB)",
                  "  to change: keep less at f (a.py:5): 1.00 MiB more stay with every step",
                  "  it would fit with: a", "  log: a b; more: memprof oom 'a b'"]
        self.assertEqual(_profile._failure(failure, "a b"), wanted)
        del failure["growth"]
        wanted[7:9] = ["  it would fit with: a", "  it would fit with: b"]
        self.assertEqual(_profile._failure(failure, "a b"), wanted)

    def test_a_command_that_fails_or_is_not_there(self):
        with self.assertLogs("memprof") as logs, unittest.mock.patch.dict(os.environ, MEMPROF_COMMAND=MEMPROF):
            self.assertEqual(_profile._ask("leaks", "/nonexistent.mprof"), {})
            with unittest.mock.patch("memprof._command.path", return_value="/nonexistent/memprof"):
                self.assertEqual(_profile._ask("leaks", "x"), {})
        self.assertEqual(len(logs.output), 2)
        with self.assertRaises(ValueError):
            _profile.Profile(on_oom="explode")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
