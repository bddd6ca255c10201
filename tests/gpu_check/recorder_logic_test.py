#!/usr/bin/env python3
"""Verdicts on the recorder: correct figures, and for each verdict wrong figures that it must detect."""
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

import recorder_verdicts as verdicts  # noqa: E402
from fixtures import event  # noqa: E402
from verdicts import DIFFERS, FAILED, MIB, OK, SKIPPED  # noqa: E402


class Device(unittest.TestCase):
    def judge(self, **costs):
        return verdicts.judge_device({"init_ms": 900.0, "context_ms": 200.0, "costs": costs})

    def test_cheap_calls(self):
        section = self.judge(cuCtxGetCurrent=[9, 10, 400], cuMemGetInfo_v2=[30_000, 40_000, 50_000])
        self.assertEqual(section.verdict, OK)
        self.assertIn("900 ms", section.summary)

    def test_a_dear_call_is_named(self):
        section = self.judge(cuCtxGetCurrent=[9, 500, 400], cuMemGetInfo_v2=[30_000])
        self.assertEqual(section.verdict, DIFFERS)
        self.assertIn("cuCtxGetCurrent", section.summary)
        self.assertEqual(self.judge(cuMemGetInfo_v2=[2e6]).verdict, DIFFERS)

    def test_nothing_measured_fails(self):
        self.assertEqual(self.judge().verdict, FAILED)


class Ledger(unittest.TestCase):
    def setUp(self):
        layers = {"linear": 256 * MIB, "vmm": 256 * MIB}
        self.told = {"layers": dict(layers), "free_before": 9000 * MIB, "free_held": 8484 * MIB}
        self.highest = {"by_layer": dict(layers), "pools_bytes": 4 * MIB, "untracked_bytes": 500 * MIB,
                        "used_bytes": 1016 * MIB, "elsewhere_bytes": 0, "other_processes_bytes": 0}
        self.last = {"by_layer": {}, "pools_bytes": 0, "untracked_bytes": 500 * MIB, "used_bytes": 500 * MIB,
                     "elsewhere_bytes": 0}

    def judge(self):
        return verdicts.judge_ledger(self.told, {"highest": self.highest, "last": self.last}, blocks=4)

    def test_it_closes(self):
        self.assertEqual(self.judge().verdict, OK)
        for entry in (self.highest, self.last):
            entry["other_processes_bytes"] = 700 * MIB
            entry["used_bytes"] += 700 * MIB
        self.assertEqual(self.judge().verdict, OK)

    def test_a_sum_that_does_not_close_fails(self):
        self.highest["used_bytes"] += 1
        self.assertEqual(self.judge().verdict, FAILED)
        self.setUp()
        self.last["pools_bytes"] = MIB
        self.assertEqual(self.judge().verdict, FAILED)

    def test_a_layer_of_other_size_fails(self):
        for change in (-256 * MIB, -1, 1):
            self.setUp()
            self.highest["by_layer"]["vmm"] += change
            self.highest["untracked_bytes"] -= change
            section = self.judge()
            self.assertEqual(section.verdict, FAILED, change)
            self.assertIn("vmm", section.summary)

    def test_what_lives_on_fails(self):
        self.last["by_layer"] = {"linear": 512}
        self.last["untracked_bytes"] -= 512
        self.assertEqual(self.judge().verdict, FAILED)

    def test_an_untracked_share_that_moves_differs(self):
        self.highest["untracked_bytes"] += 200 * MIB
        self.highest["used_bytes"] += 200 * MIB
        self.told["free_held"] -= 200 * MIB
        section = self.judge()
        self.assertEqual(section.verdict, DIFFERS)
        self.assertIn("untracked share moved", section.summary)

    def test_what_drivers_round_up_is_no_difference(self):
        # Two layers of four blocks: 2 * (8 + 4) MiB, and 64 MiB.
        for moved, verdict in ((88, OK), (89, DIFFERS)):
            self.setUp()
            self.highest["untracked_bytes"] += moved * MIB
            self.highest["used_bytes"] += moved * MIB
            self.told["free_held"] -= moved * MIB
            self.assertEqual(self.judge().verdict, verdict, moved)

    def test_samples_that_miss_the_program_differ(self):
        self.told["free_held"] -= 300 * MIB
        self.assertEqual(self.judge().verdict, DIFFERS)

    def test_memory_that_is_not_on_the_device_differs(self):
        self.highest.update(elsewhere_bytes=256 * MIB, untracked_bytes=0, used_bytes=260 * MIB)
        self.last.update(untracked_bytes=0, used_bytes=0)
        self.assertEqual(self.judge().verdict, DIFFERS)


class Others(unittest.TestCase):
    def judge(self, others, nvml=True):
        return verdicts.judge_others({"nvml": nvml}, others, 256 * MIB).verdict

    def test_shares(self):
        self.assertEqual(self.judge(256 * MIB), OK)
        self.assertEqual(self.judge(800 * MIB), OK)
        self.assertEqual(self.judge(800 * MIB, nvml=False), OK)
        self.assertEqual(self.judge(256 * MIB - 1), FAILED)
        self.assertEqual(self.judge(0), FAILED)
        self.assertEqual(self.judge(9000 * MIB), DIFFERS)

    def test_nobody_could_tell(self):
        self.assertEqual(self.judge(None), DIFFERS)
        self.assertEqual(self.judge(None, nvml=False), SKIPPED)


class Killed(unittest.TestCase):
    def judge(self, *changes):
        runs = []
        for change in changes:
            run = {"made": 1000, "status": -9, "allocations": 1000, "lost": 0, "complete": False, **change}
            events = {"allocations": run["allocations"], "lost": run["lost"]}
            runs.append((run["made"], run["status"], events, run["complete"], ["ring_recovered"]))
        return verdicts.judge_kill(runs)

    def test_all_kept(self):
        section = self.judge({}, {})
        self.assertEqual(section.verdict, OK)
        self.assertIn("2 of 2", section.summary)
        self.assertEqual(section.table[1], ["1", "1,000", "1,000", "0", "ring_recovered", "ok"])

    def test_whatever_is_wrong_in_one_run_fails(self):
        for change in ({"allocations": 999}, {"allocations": 1001}, {"lost": 1}, {"complete": True}, {"status": 0},
                       {"status": None}):
            section = self.judge({}, change, {})
            self.assertEqual(section.verdict, FAILED, change)
            self.assertIn("2 of 3", section.summary)

    def test_no_run_is_no_success(self):
        self.assertEqual(self.judge().verdict, SKIPPED)


class Late(unittest.TestCase):
    def setUp(self):
        self.told = {"early": 512, "late": 1024, "recorded_before": False, "begun": True, "stopped": True}
        self.live = {"begun": (0, 0), "taken": (5, 5 * 1024), "given back": (0, 0)}
        self.sizes = [512, 1024, 1024, 1024, 1024, 1024]

    def judge(self):
        return verdicts.judge_late(self.told, self.live, self.sizes, 5).verdict

    def test_as_it_should_be(self):
        self.assertEqual(self.judge(), OK)

    def test_what_lived_before_counts_for_nothing(self):
        self.live = {mark: (blocks + 3, size + 700) for mark, (blocks, size) in self.live.items()}
        self.assertEqual(self.judge(), OK)

    def test_the_switches(self):
        for key, value in (("recorded_before", True), ("begun", False), ("stopped", False)):
            self.setUp()
            self.told[key] = value
            self.assertEqual(self.judge(), FAILED, key)

    def test_what_was_recorded(self):
        for mark, value in (("taken", (4, 4 * 1024)), ("taken", (5, 5 * 1024 - 1)), ("given back", (1, 1024)),
                            ("begun", (1, 512))):
            self.setUp()
            self.live[mark] = value
            self.assertEqual(self.judge(), FAILED, mark)
        self.setUp()
        self.live = {}
        self.assertEqual(self.judge(), FAILED)
        self.setUp()
        self.sizes.append(2048)
        self.assertEqual(self.judge(), FAILED)


class Pairs(unittest.TestCase):
    def test_the_net_cost_is_of_the_same_round(self):
        section = verdicts.judge_pairs({"bare": [1000, 2000, 3000], "interposed": [1200, 2100, 3250]})
        self.assertEqual(section.verdict, OK)
        self.assertIn("adds 200 ns", section.summary)
        self.assertEqual(section.table[2][2:], ["200", "1.08"])

    def test_a_dear_recording_differs_where_it_is_judged(self):
        runs = {"bare": [1000], "interposed": [1300]}
        self.assertEqual(verdicts.judge_pairs(runs).verdict, DIFFERS)
        self.assertEqual(verdicts.judge_pairs(runs, judged=False).verdict, OK)

    def test_a_way_that_records_nothing_is_told(self):
        section = verdicts.judge_pairs({"bare": [1000], "interposed": [1001], "by CUPTI alone": "nothing"})
        self.assertEqual(section.verdict, OK)
        self.assertIn("skipped: nothing", section.table[3])
        self.assertEqual(verdicts.judge_pairs({"bare": [1000], "interposed": "nothing"}).verdict, FAILED)


class Checkpoint(unittest.TestCase):
    def judge(self, marks=(1, 2, 3, 4), same=True, before=(1, 9), after=(1, 9)):
        events = [dict(event("checkpoint", "0x0"), aux0=mark) for mark in marks]
        return verdicts.judge_checkpoint({"asked": 9, "same": same}, events, {"before": before, "after": after}).verdict

    def test_marks_and_memory(self):
        self.assertEqual(self.judge(), OK)
        self.assertEqual(self.judge(same=False), DIFFERS)
        self.assertEqual(self.judge(marks=(1, 2, 4)), FAILED)
        self.assertEqual(self.judge(marks=()), FAILED)
        self.assertEqual(self.judge(after=(0, 0)), FAILED)
        self.assertEqual(self.judge(before=(1, 8), after=(1, 8)), FAILED)


if __name__ == "__main__":
    unittest.main()
