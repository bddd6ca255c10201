#!/usr/bin/env python3
"""How scripts/gpu-check handles sections and guests that fail, hang, crash, or leave processes behind."""
import argparse
import os
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

import budget  # noqa: E402
import facts  # noqa: E402
import machine  # noqa: E402
import processes  # noqa: E402
import recorder_sections  # noqa: E402
import sections  # noqa: E402
import verdicts  # noqa: E402
from fixtures import program  # noqa: E402
from machine import CannotStart, GuestFailed, Machine, OutOfTime  # noqa: E402
from verdicts import FAILED, OK, SKIPPED  # noqa: E402


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


class Attempt(unittest.TestCase):
    """However a section ends, it has a verdict."""

    def attempt(self, outcome):
        def section(machine, options):
            if isinstance(outcome, Exception):
                raise outcome
            return outcome
        found = program().attempt(sections.Plan(section, "A title", 5), None, None)
        self.assertGreaterEqual(found[0].seconds, 0)
        return [(one.title, one.verdict, one.summary) for one in found]

    def test_what_it_found(self):
        one = verdicts.Section("One", OK, "fine")
        self.assertEqual(self.attempt(one), [("One", OK, "fine")])
        self.assertEqual(len(self.attempt([one, one])), 2)

    def test_how_it_failed(self):
        self.assertEqual(self.attempt(GuestFailed("it crashed")), [("A title", FAILED, "it crashed")])
        self.assertEqual(self.attempt(KeyError("asked")), [("A title", FAILED, "KeyError: 'asked'")])
        self.assertEqual(self.attempt(OutOfTime()), [("A title", SKIPPED, "no time was left")])
        self.assertEqual(self.attempt(CannotStart("no NVML")), [("A title", SKIPPED, "no NVML")])


class Guests(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = Path(self.folder.name)
        self.machine = Machine(self.path, self.path, True, 30)

    def sh(self, script, **how):
        return self.machine.run(["sh", "-c", script], **how)

    def test_output(self):
        self.assertEqual(self.sh("echo one; echo two >&2"), "one\n")

    def test_failure_has_the_last_word_said(self):
        with self.assertRaisesRegex(GuestFailed, "ended with 3: why"):
            self.sh("echo before >&2; echo why >&2; exit 3")

    def test_one_that_hangs_is_ended_with_all_that_it_started(self):
        begin = time.monotonic()
        # The grandchild keeps the output open.
        with self.assertRaisesRegex(GuestFailed, "did not end in 2 s"):
            self.sh(f"sleep 300 & echo $! > {self.path}/pid; wait", most_s=2)
        self.assertLess(time.monotonic() - begin, 60)
        pid = int((self.path / "pid").read_text())
        for _ in range(200):
            if not alive(pid):
                break
            time.sleep(0.02)
        self.assertFalse(alive(pid))

    def test_lines_have_the_times_at_which_they_came(self):
        lines = self.machine.stamped(["sh", "-c", "echo one; sleep 0.3; echo two; printf three"])
        self.assertEqual([line for _, line in lines], ["one", "two"])
        self.assertGreater(lines[1][0] - lines[0][0], 0.2)
        with self.assertRaisesRegex(GuestFailed, "sh ended with 4: why"):
            self.machine.stamped(["sh", "-c", "echo why >&2; exit 4"])
        with self.assertRaisesRegex(GuestFailed, "sh did not end in time"):
            self.machine.stamped(["sh", "-c", "echo one; exec sleep 300"], most_s=2)

    def test_nothing_starts_when_the_time_is_up(self):
        self.machine.deadline = time.monotonic() + 0.5
        with self.assertRaises(OutOfTime):
            self.sh("echo never")

    def test_what_cannot_start_is_no_failure_of_memprofs(self):
        with self.assertRaises(CannotStart):
            self.machine.run([self.path / "nothing"])
        with self.assertRaisesRegex(CannotStart, "libcudart.so.13: cannot open"):
            self.sh("echo 'x: error while loading shared libraries: libcudart.so.13: cannot open shared object file' >&2;"
                    " exit 127")

    def test_a_library_that_is_too_old_is_no_failure_of_memprofs(self):
        with self.assertRaisesRegex(CannotStart, "GLIBC_2.34' not found"):
            self.sh("echo \"./x: /lib/libc.so.6: version \\`GLIBC_2.34' not found (required by ./x)\" >&2; exit 1")
        with self.assertRaisesRegex(GuestFailed, "ended with 1: the version"):
            self.sh("echo 'the version was not found' >&2; exit 1")

    def test_the_command_takes_the_carried_libraries_that_it_needs(self):
        (self.path / "carried/cxx").mkdir(parents=True)
        (self.path / "bin").mkdir()
        tool = self.path / "bin/memprof"
        tool.write_text("#!/bin/sh\ncase $LD_LIBRARY_PATH in *cxx) echo fine;; *) echo \"$0: /lib/libstdc++.so.6: version"
                        " \\`GLIBCXX_3.4.30' not found (required by $0)\" >&2; exit 1;; esac\n")
        tool.chmod(0o755)
        carrying = Machine(self.path, self.path, True, 30)
        self.assertEqual(carrying.memprof_says("report"), "fine\n")
        self.assertEqual(len(carrying.carried), 2)
        tool.write_text("#!/bin/sh\necho $LD_LIBRARY_PATH; exit 0\n")
        carrying = Machine(self.path, self.path, True, 30)
        self.assertEqual(carrying.memprof_says("report"), f"{self.path}/carried\n", "the machine's own C++ library")
        tool.write_text("#!/bin/sh\necho bad log >&2; exit 1\n")
        with self.assertRaisesRegex(GuestFailed, "memprof report ended with 1: bad log"):
            carrying.memprof_says("report")

    def test_answers(self):
        guest = self.path / "guest"
        self.machine.guests = self.path
        for said, error in (('{"skipped":"no pools"}', CannotStart), ('{"failed":"it broke"}', GuestFailed),
                            ("nonsense", GuestFailed)):
            guest.write_text(f"#!/bin/sh\necho '{said}'\n")
            guest.chmod(0o755)
            with self.assertRaises(error):
                self.machine.ask_guest("guest")
        guest.write_text("#!/bin/sh\necho '{\"value\":3}'\n")
        self.assertEqual(self.machine.ask_guest("guest"), {"value": 3})

    def test_nothing_of_memprofs_comes_in_from_outside(self):
        os.environ["MEMPROF_SOURCE"] = "cupti"
        self.addCleanup(os.environ.pop, "MEMPROF_SOURCE")
        self.assertEqual(self.sh("echo $MEMPROF_SOURCE"), "\n")


class Rounds(unittest.TestCase):
    def numbers(self, left_s):
        left = iter(left_s)
        return list(recorder_sections.rounds(argparse.Namespace(left_s=lambda: next(left)), 4))

    def test_as_many_as_there_is_time_for(self):
        self.assertEqual(self.numbers([100, 100, 100]), [0, 1, 2, 3])
        self.assertEqual(self.numbers([100, 2]), [0, 1])
        self.assertEqual(self.numbers([2]), [0], "one is always tried")


class Sections(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.result = Path(self.folder.name) / "one.json"

    def run_section(self, script, most_s=20):
        return processes.run_section(["sh", "-c", script], self.result, "A title", most_s)

    def test_its_result_comes_back(self):
        one = verdicts.Section("One", OK, "fine", [["a", 1]], ["A note."])
        one.seconds = 2.5
        processes.write_result(self.result, [one, verdicts.Section("Two", SKIPPED, "why")])
        found = self.run_section("exit 0")
        self.assertEqual([vars(one)], [vars(found[0])])
        self.assertEqual(found[1].verdict, SKIPPED)

    def test_without_one_it_failed_and_says_how(self):
        found = self.run_section("echo bad luck >&2; exit 4")
        self.assertEqual((found[0].title, found[0].verdict), ("A title", FAILED))
        self.assertIn("ended with 4 and said nothing bad luck", found[0].summary)
        self.assertIn("ended with -11", self.run_section("kill -SEGV $$")[0].summary)

    def test_half_a_result_is_none(self):
        for text in ("[{", "[]", "[{}]", "3"):
            self.result.write_text(text)
            self.assertEqual(self.run_section("exit 0")[0].verdict, FAILED, text)

    def test_one_that_hangs_is_ended(self):
        grace = processes._GRACE_S
        processes._GRACE_S = 0
        self.addCleanup(setattr, processes, "_GRACE_S", grace)
        self.assertIn("was ended after 1 s", self.run_section("sleep 300", most_s=1)[0].summary)

    def test_what_it_leaves_behind_is_ended(self):
        processes.adopt_orphans()
        self.run_section(f"setsid sleep 300 & echo $! > {self.result}.pid; exit 0")
        pid = int(Path(f"{self.result}.pid").read_text())
        for _ in range(200):
            if not alive(pid):
                break
            time.sleep(0.02)
        self.assertFalse(alive(pid))


class Budget(unittest.TestCase):
    def test_a_section_gets_its_limit_while_there_is_time(self):
        self.assertEqual(budget.share(30, 400, [100, 100]), 30)

    def test_what_later_ones_need_is_kept(self):
        self.assertEqual(budget.share(100, 90, [100, 100]), 50)

    def test_the_least_is_given_at_the_cost_of_later_ones(self):
        self.assertEqual(budget.share(100, 30, [100, 100]), 20)
        self.assertEqual(budget.share(100, 10, [100, 100]), 10)

    def test_too_little_is_nothing(self):
        self.assertEqual(budget.share(100, 3, []), 0)
        self.assertEqual(budget.share(100, -5, []), 0)

    def test_all_sections_together_never_take_longer_than_there_is(self):
        limits = [one.limit_s for one in sections.SECTIONS]
        left = 440.0
        for number, limit in enumerate(limits):
            given = budget.share(limit, left, limits[number + 1:])
            self.assertLessEqual(given, left)
            self.assertGreater(given, 0, sections.SECTIONS[number].name)
            left -= given


class WholeProgram(unittest.TestCase):
    """With sections defined by the test."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = Path(self.folder.name)
        self.program = program()
        self.asked = []
        self.addCleanup(setattr, processes, "run_section", processes.run_section)

    def run_all(self, carry_out, output=None, seconds=300):
        processes.run_section = carry_out
        plans = [sections.Plan(None, title, 20, name) for title, name in (("One", "one"), ("Two", "two"))]
        options = argparse.Namespace(sections=plans, output=output or self.path / "report.md", stand_in=True,
                                     limit=450)
        return self.program.run_all(options, [], self.folder.name, time.monotonic() + seconds, ([("GPU", "none")], []))

    def test_the_report_is_there_after_each_section(self):
        seen = []

        def carry_out(command, result, title, most_s):
            seen.append((self.path / "report.md").read_text())
            return [verdicts.Section(title, OK, "fine")]
        found, (text, unwritten) = self.run_all(carry_out)
        self.assertIn("## One: skipped: not reached", seen[0])
        self.assertIn("## One: ok", seen[1])
        self.assertIn("## Two: skipped: not reached", seen[1])
        self.assertIn("## Two: ok", text)
        self.assertEqual((self.path / "report.md").read_text(), text)
        self.assertEqual((len(found), unwritten), (2, None))

    def test_an_interruption_keeps_what_was_found(self):
        def carry_out(command, result, title, most_s):
            if title == "Two":
                raise KeyboardInterrupt
            return [verdicts.Section(title, OK, "fine")]
        found, (text, _) = self.run_all(carry_out)
        self.assertEqual([one.verdict for one in found], [OK, FAILED])
        self.assertIn("## One: ok", text)
        self.assertIn("it was interrupted", text)
        self.assertIn("## Two: skipped: not reached", text)

    def test_without_time_it_says_so(self):
        found, _ = self.run_all(lambda *_: self.fail("it was started"), seconds=1)
        self.assertEqual([one.summary for one in found], ["no time was left"] * 2)

    def test_a_report_that_cannot_be_written_is_handed_back(self):
        (self.path / "file").write_text("")
        _, (text, unwritten) = self.run_all(lambda command, result, title, most_s: [verdicts.Section(title, OK, "fine")],
                                            output=self.path / "file/report.md")
        self.assertIn("## Two: ok", text)
        self.assertIn("report.md: ", unwritten)


class Facts(unittest.TestCase):
    device = {"name": "GPU", "total": 80 << 30, "free": 70 << 30, "capability_major": 9, "capability_minor": 0,
              "devices": 8, "driver_version": 12040, "compute_mode": 0, "vmm": 1, "pools": 1}

    def test_of_the_device(self):
        known, warnings = facts.describe(self.device)
        self.assertIn(("driver serves CUDA", "12.4"), known)
        self.assertEqual(warnings, [])

    def test_warnings(self):
        for change, word in (({"pools": 0}, "no memory pools"), ({"vmm": 0}, "by hand"), ({"free": 1 << 30}, "Little"),
                             ({"compute_mode": 3}, "one process at a time")):
            warnings = facts.describe({**self.device, **change})[1]
            self.assertEqual(len(warnings), 1)
            self.assertIn(word, warnings[0])

    def test_surroundings(self):
        self.assertEqual(facts.surroundings(300 << 20, 2.0, 4), [])
        self.assertIn("/dev/shm", facts.surroundings((300 << 20) - 1, 2.0, 4)[0])
        self.assertIn("/dev/shm", facts.surroundings(None, 2.0, 4)[0])
        self.assertIn("busy", facts.surroundings(1 << 40, 2.1, 4)[0])

    def test_a_program_that_is_not_there_says_nothing(self):
        self.assertEqual(facts.lines_of(["/nonexistent/nvidia-smi"]), [])
        self.assertEqual(facts.lines_of(["false"]), [])
        self.assertEqual(facts.lines_of(["sleep", "60"], most_s=0.2), [])
        self.assertEqual(facts.lines_of(["echo", "one"]), ["one"])


if __name__ == "__main__":
    machine._GRACE_S = 20  # on a loaded machine it takes longer until a killed process is gone
    unittest.main()
