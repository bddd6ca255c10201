#!/usr/bin/env python3
"""Verdicts on CUPTI: correct figures, and for each verdict wrong figures that it must detect."""
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

import cupti_verdicts  # noqa: E402
import verdicts  # noqa: E402
from fixtures import event  # noqa: E402
from verdicts import DIFFERS, FAILED, OK  # noqa: E402


class CallbackCost(unittest.TestCase):
    def setUp(self):
        self.loops = {}
        for variant, extra in (("without CUPTI", 0), ("subscribed", 2), ("enabled", 200), ("unsubscribed", 0)):
            on = variant == "enabled"
            self.add(variant, "cuCtxGetCurrent", 20 + min(extra, 2), 0)
            self.add(variant, "cuDriverGetVersion", 30 + extra, 2 if on else 0)
            self.add(variant, "cuMemAlloc, cuMemFree", 2000 + 2 * extra, 4 if on else 0)

    def add(self, variant, loop, ns, callbacks):
        self.loops[loop, variant] = {"loop": loop, "variant": variant, "ns": [ns, ns + 1, ns * 3], "callbacks": callbacks}

    def judge(self):
        return cupti_verdicts.judge_callback_cost({"enabled": 117, "loops": list(self.loops.values())})

    def test_ns_are_of_one_callback(self):
        section = self.judge()
        self.assertEqual(section.verdict, OK)
        self.assertIn("100 to 100 ns a callback", section.summary)

    def test_callbacks_that_do_not_come_fail(self):
        self.loops["cuMemAlloc, cuMemFree", "enabled"]["callbacks"] = 2
        self.assertEqual(self.judge().verdict, FAILED)
        self.loops["cuMemAlloc, cuMemFree", "enabled"]["callbacks"] = 0
        self.assertEqual(self.judge().verdict, FAILED)

    def test_without_the_sign_of_life_memprof_trusts_its_subscription(self):
        self.loops["cuDriverGetVersion", "enabled"]["callbacks"] = 0
        section = self.judge()
        self.assertEqual(section.verdict, DIFFERS)
        self.assertIn("cuDriverGetVersion", section.summary)

    def test_callbacks_that_nobody_asked_for_fail(self):
        self.loops["cuCtxGetCurrent", "subscribed"]["callbacks"] = 2
        self.assertEqual(self.judge().verdict, FAILED)

    def test_what_is_dear_differs(self):
        self.add("enabled", "cuMemAlloc, cuMemFree", 9000, 4)
        self.assertEqual(self.judge().verdict, DIFFERS)
        self.setUp()
        self.add("enabled", "cuCtxGetCurrent", 90, 0)
        self.assertEqual(self.judge().verdict, DIFFERS)

    def test_a_loop_that_is_missing_fails(self):
        for variant in ("without CUPTI", "subscribed", "enabled"):
            self.setUp()
            del self.loops["cuMemAlloc, cuMemFree", variant]
            self.assertEqual(self.judge().verdict, FAILED)
        self.loops = {}
        self.assertEqual(self.judge().verdict, FAILED)


class Activity(unittest.TestCase):
    def setUp(self):
        self.families = [self.family("linear", 3, 0), self.family("stream-ordered", 3, 1), self.family("module", 6)]
        self.families[2]["records"].pop()  # its end is not told

    @staticmethod
    def family(name, kind=None, is_async=0):
        records = [] if kind is None else [
            {"operation": operation, "kind": kind, "async": is_async, "bytes": 4096, "time": 1_000_500 + operation}
            for operation in (1, 2)]
        return {"family": name, "asked": 4096, "records": records, "clocks": {
            "CLOCK_REALTIME": [1_000_000, 1_001_000], "CLOCK_MONOTONIC": [5_000, 6_000],
            "CLOCK_MONOTONIC_RAW": [7_000, 8_000]}}

    def judge(self):
        return cupti_verdicts.judge_activity({"version": 130000, "families": self.families})

    def test_as_documented(self):
        section = self.judge()
        self.assertEqual(section.verdict, OK)
        self.assertIn("3 of 3", section.summary)
        self.assertIn("CLOCK_REALTIME", section.summary)

    def test_what_is_otherwise_differs(self):
        def records(index):
            return self.families[index]["records"]
        for change in (lambda: records(0).clear(), lambda: records(0).pop(), lambda: records(0)[0].update(kind=5),
                       lambda: records(1)[0].update({"async": 0}), lambda: records(0)[0].update(bytes=4095),
                       lambda: records(0)[0].update(time=5_500), lambda: records(2)[0].update(kind=3)):
            self.setUp()
            change()
            section = self.judge()
            self.assertEqual(section.verdict, DIFFERS)
            self.assertIn("2 of 3", section.summary)

    def test_the_clock_is_named(self):
        for family in self.families:
            for record in family["records"]:
                record["time"] = 5_500
        self.assertIn("CLOCK_MONOTONIC;", self.judge().summary)

    def test_no_record_at_all_differs(self):
        self.families = [self.family("linear"), self.family("vmm")]
        section = self.judge()
        self.assertEqual((section.verdict, "no record of memory at all" in section.summary), (DIFFERS, True))

    def test_a_family_that_is_missing_is_skipped(self):
        self.families.append({"family": "pool", "skipped": "no pools"})
        self.assertEqual(self.judge().verdict, OK)
        self.assertIn("skipped: no pools", self.judge().table[-1])


class ForeignSubscriber(unittest.TestCase):
    def setUp(self):
        self.alone = verdicts.comparable([event("alloc", "0x1", 5), event("free", "0x1", 5)])
        self.runs = {"first": (list(self.alone), ("refused", "held by another"), 0, ""),
                     "second": (list(self.alone), ("on", "CUPTI 13.0"), 0, "cuptiSubscribe returned 39"),
                     "finalised": (list(self.alone), ("on", ""), 1, "")}

    def judge(self):
        return cupti_verdicts.judge_foreign_subscriber(self.alone, self.runs)

    def change(self, how, **what):
        run = dict(zip(("events", "state", "lost", "told"), self.runs[how]), **what)
        self.runs[how] = tuple(run.values())
        return self.judge().verdict

    def test_three_ways_to_meet(self):
        section = self.judge()
        self.assertEqual(section.verdict, OK)
        self.assertIn("3 of 3", section.summary)
        self.assertIn("refused held by another", section.table[1])

    def test_events_lost_beside_it_fail(self):
        for how in self.runs:
            self.setUp()
            self.assertEqual(self.change(how, events=self.alone[:1]), FAILED, how)
            self.assertTrue(self.judge().notes)
        self.setUp()
        self.alone = []
        self.assertEqual(self.change("first", events=[]), FAILED)

    def test_a_loss_that_is_not_noticed_or_not_made_good_differs(self):
        self.assertEqual(self.change("finalised", lost=0), DIFFERS)
        self.assertEqual(self.change("finalised", state=("lost", ""), lost=1), DIFFERS)
        # Recording was off: nothing could be lost.
        self.assertEqual(self.change("finalised", state=("refused", ""), lost=0), OK)
        self.assertEqual(self.change("finalised", told="libcupti lacks cuptiFinalize"), OK)
        self.assertIn("skipped: libcupti lacks cuptiFinalize", self.judge().table[-1])

    def test_a_refusal_must_be_told(self):
        self.assertEqual(self.change("first", state=("", "")), FAILED)
        self.assertEqual(self.change("first", state=("on", "")), DIFFERS)


if __name__ == "__main__":
    unittest.main()
