#!/usr/bin/env python3
"""Verdicts on PyTorch: correct figures, and for each verdict wrong figures that it must detect."""
import sys
import time
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

import torch_sections  # noqa: E402
import torch_verdicts as verdicts  # noqa: E402
from verdicts import DIFFERS, FAILED, OK  # noqa: E402


def device(peak=100, blocks=60, segments=90):
    return {"peak_bytes": peak, "framework": {"peak_bytes": blocks, "peak_reserved_bytes": segments}}


class Clock:
    """A machine whose section has `left` seconds."""

    def __init__(self, left):
        self.end = time.monotonic() + left

    def left_s(self):
        return self.end - time.monotonic()


class InTime(unittest.TestCase):
    def run_for(self, left, seconds):
        ran = []
        for script in torch_sections.in_time(Clock(left), "abcdef"):
            ran.append(script)
            time.sleep(seconds)
        return "".join(ran)

    def test_all_if_there_is_time(self):
        self.assertEqual(self.run_for(left=60, seconds=0), "abcdef")

    def test_none_that_may_be_stopped_by_the_section(self):
        self.assertEqual(self.run_for(left=0.29, seconds=0.1), "ab")

    def test_what_was_left_out_is_said(self):
        told = {"allocated": 60, "reserved": 90}
        self.assertIn("in 1 of 1 scripts; no time was left for 2 more",
                      verdicts.judge_totals("t", "2.9", {"mlp": (told, [device()])}, 3).summary)
        self.assertIn("no time was left for 1 more", verdicts.judge_history("h", "2.9", {"mlp": (9, [])}, 2).summary)


class Totals(unittest.TestCase):
    def judge(self, *devices, told=None):
        told = {"allocated": 60, "reserved": 90} if told is None else told
        return verdicts.judge_totals("t", "2.9", {"mlp": (told, list(devices))}, 1)

    def test_equal_figures(self):
        section = self.judge(device())
        self.assertEqual(section.verdict, OK)
        self.assertIn("1 of 1", section.summary)
        self.assertEqual(section.table[1], ["mlp", "60", "60", "90", "90", "ok"])

    def test_a_byte_too_few_or_too_many(self):
        for wrong in (device(blocks=61), device(blocks=59), device(segments=91), device(segments=0)):
            self.assertEqual(self.judge(wrong).verdict, FAILED)
        self.assertEqual(self.judge(device(peak=89)).verdict, DIFFERS, "less than PyTorch reserved")

    def test_what_did_not_run_or_was_not_seen(self):
        self.assertEqual(self.judge(device(), told="it crashed").verdict, FAILED)
        self.assertIn("it crashed", self.judge(told="it crashed").table[1][-1])
        self.assertEqual(self.judge({"peak_bytes": 100}).verdict, FAILED)
        self.assertEqual(self.judge().verdict, FAILED)


class History(unittest.TestCase):
    def judge(self, events, differences):
        return verdicts.judge_history("h", "2.9", {"mlp": (events, differences)}, 1)

    def test_verdicts(self):
        self.assertEqual(self.judge(100, []).verdict, OK)
        self.assertEqual(self.judge(100, ["dump: another size"]).verdict, FAILED)
        self.assertIn("another size", self.judge(100, ["dump: another size"]).table[1][3])
        self.assertEqual(self.judge(4, []).verdict, FAILED, "nothing to compare is no success")


class Leak(unittest.TestCase):
    def judge(self, *leaks):
        told = {"verdict": "No growth.", "leaks": [{"tier": tier, "bytes_per_step": 1024.0, "site": site}
                                                   for tier, site in leaks]}
        return verdicts.judge_leak("l", told, "leak.py")

    def test_named_by_its_line(self):
        section = self.judge(("suspected", "<module> (leak.py:18)"))
        self.assertEqual(section.verdict, OK)
        self.assertIn("leak.py:18", section.summary)

    def test_not_found_or_not_named(self):
        self.assertEqual(self.judge().verdict, FAILED)
        self.assertIn("No growth", self.judge().summary)
        self.assertEqual(self.judge(("growing", "<module> (leak.py:18)")).verdict, FAILED)
        self.assertEqual(self.judge(("suspected", "DeviceCachingAllocator::malloc [libc10_cuda.so]")).verdict, FAILED)
        self.assertEqual(self.judge(("suspected", "f (other_leak.py:18)")).verdict, FAILED)


if __name__ == "__main__":
    unittest.main()
