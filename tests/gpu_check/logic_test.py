#!/usr/bin/env python3
"""Verdicts of scripts/gpu-check on figures: correct ones, and for every verdict wrong ones that it must detect."""
import argparse
import json
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

import report  # noqa: E402
import sections  # noqa: E402
import torch_sections  # noqa: E402
import verdicts  # noqa: E402
from fixtures import event  # noqa: E402
from machine import GuestFailed, Machine  # noqa: E402
from verdicts import DIFFERS, FAILED, MIB, OK, SKIPPED  # noqa: E402


def symbol(name, base, since, streams="kAny", address="0x1", owner="libcuda.so.1"):
    return {"name": name, "base": base, "since": since, "streams": streams, "address": address, "object": owner}


def answer(base, version, flags, address, result=0, owner="libcuda.so.1"):
    return {"base": base, "through": "cuGetProcAddress_v2", "version": version, "flags": flags, "result": result,
            "address": address, "object": owner}


class Pointers(unittest.TestCase):
    def setUp(self):
        self.symbols = [symbol("cuMemAlloc", "cuMemAlloc", 2000, address="0x10"),
                        symbol("cuMemAlloc_v2", "cuMemAlloc", 3020, address="0x20"),
                        symbol("cuMemFreeAsync", "cuMemFreeAsync", 11020, "kLegacy", "0x30"),
                        symbol("cuMemFreeAsync_ptsz", "cuMemFreeAsync", 11020, "kPerThread", "0x40"),
                        symbol("cuMulticastCreate", "cuMulticastCreate", 12010, address="0x0")]

    def judge(self, *answers):
        return verdicts.judge_pointers({"driver_version": 13000, "symbols": self.symbols, "answers": list(answers)})

    def test_the_expected_name_follows_version_and_stream_flavour(self):
        def name(base, version, flags):
            return verdicts.expected_name(self.symbols, base, version, flags)
        self.assertEqual(name("cuMemAlloc", 13000, 2), "cuMemAlloc_v2")
        self.assertEqual(name("cuMemAlloc", 3020, 0), "cuMemAlloc_v2")
        self.assertEqual(name("cuMemAlloc", 3019, 0), "cuMemAlloc")
        self.assertEqual(name("cuMemFreeAsync", 12000, 0), "cuMemFreeAsync")
        self.assertEqual(name("cuMemFreeAsync", 12000, 1), "cuMemFreeAsync")
        self.assertEqual(name("cuMemFreeAsync", 12000, 2), "cuMemFreeAsync_ptsz")
        self.assertIsNone(name("cuMemFreeAsync", 11010, 0))

    def test_the_same_addresses_are_ok(self):
        section = self.judge(answer("cuMemAlloc", 12000, 0, "0x20"), answer("cuMemFreeAsync", 12000, 2, "0x40"))
        self.assertEqual(section.verdict, OK)
        self.assertIn("2 of 2 answers", section.summary)
        self.assertIn("cuMulticastCreate", section.notes[0])

    def test_an_error_is_no_answer_whatever_it_left_behind(self):
        section = self.judge(answer("cuMemAlloc", 12000, 0, "0x20", 1), answer("cuMemAlloc", 12000, 0, "0x20"))
        self.assertEqual(section.verdict, DIFFERS)
        self.assertIn("1 of 2 answers", section.summary)
        self.assertIn("4 of 5 names exported", section.summary)

    def test_another_function_is_noticed_and_named(self):
        section = self.judge(answer("cuMemAlloc", 12000, 0, "0x10"))
        self.assertEqual(section.verdict, DIFFERS)
        self.assertEqual(section.table[1][2:], ["cuMemAlloc_v2", "cuMemAlloc"])

    def test_an_inner_function_is_noticed(self):
        section = self.judge(answer("cuMemAlloc", 12000, 0, "0x99"), answer("cuMemAlloc", 12000, 1, "0x20"))
        self.assertEqual(section.verdict, DIFFERS)
        self.assertIn("1 of them no exported function", section.summary)

    def test_a_stream_flavour_may_come_before_its_time_but_no_other_function_may(self):
        self.symbols += [symbol("cuGraphicsMap", "cuGraphicsMap", 3000, "kLegacy", "0x50"),
                         symbol("cuGraphicsMap_ptsz", "cuGraphicsMap", 7000, "kPerThread", "0x60")]
        self.assertEqual(self.judge(answer("cuGraphicsMap", 3000, 2, "0x60")).verdict, OK)
        self.assertEqual(self.judge(answer("cuGraphicsMap", 3000, 2, "0x50")).verdict, DIFFERS)
        self.assertEqual(self.judge(answer("cuGraphicsMap", 3000, 2, "0x40")).verdict, DIFFERS)
        self.assertEqual(self.judge(answer("cuGraphicsMap", 2000, 2, "0x60")).verdict, DIFFERS)
        self.assertEqual(self.judge(answer("cuGraphicsMap", 3000, 0, "0x60")).verdict, DIFFERS)

    def test_refusals_count_only_where_something_was_expected(self):
        self.assertEqual(self.judge(answer("cuMemAlloc", 12000, 0, "0x20"),
                                    answer("cuMemFreeAsync", 11000, 0, "0x0", 500)).verdict, OK)
        self.assertEqual(self.judge(answer("cuMemAlloc", 12000, 0, "0x20"),
                                    answer("cuMemFreeAsync", 12000, 0, "0x0", 500)).verdict, DIFFERS)
        self.assertEqual(self.judge(answer("cuMemAlloc", 12000, 0, "0x20"),
                                    answer("cuMulticastCreate", 12010, 0, "0x0", 500)).verdict, OK)
        self.assertEqual(self.judge().verdict, FAILED)

    def test_a_pointer_that_escapes_memprof_fails(self):
        bare = {"symbols": self.symbols, "answers": [answer("cuMemAlloc", 12000, 0, "0x20")]}
        ours = {"symbols": [dict(s, object="libmemprof.so") for s in self.symbols],
                "answers": [answer("cuMemAlloc", 12000, 0, "0x5", owner="libmemprof.so")]}
        section = verdicts.judge_wrapped(bare, ours)
        self.assertEqual(section.verdict, OK)
        self.assertIn("5 of 5", section.summary)
        ours["answers"][0]["object"] = "libcuda.so.1"
        section = verdicts.judge_wrapped(bare, ours)
        self.assertEqual(section.verdict, FAILED)
        self.assertIn("4 of 5", section.summary)
        self.assertIn("flags 0", section.table[1][1])


class RuntimeMap(unittest.TestCase):
    intercepted = {name for names in verdicts.RUNTIME_MAP.values() for name in names} | {"cuMemAllocHost_v2"}

    def setUp(self):
        self.traced = {"trace": "", "actions": [
            {"runtime": name, "result": 0, "driver": ["cuCtxGetCurrent", *functions]}
            for name, functions in verdicts.RUNTIME_MAP.items()]}
        self.recorded = dict(verdicts.RUNTIME_MAP)

    def judge(self):
        return verdicts.judge_runtime_map(self.traced, self.recorded, self.intercepted)

    def action(self, name):
        return next(one for one in self.traced["actions"] if one["runtime"] == name)

    def test_as_expected(self):
        self.assertEqual(self.judge().verdict, OK)

    def test_another_function_differs_if_it_was_recorded_too(self):
        self.action("cudaMallocHost")["driver"] = ["cuMemAllocHost_v2"]
        self.recorded["cudaMallocHost"] = ["cuMemAllocHost_v2"]
        self.assertEqual(self.judge().verdict, DIFFERS)

    def test_what_was_not_recorded_fails(self):
        self.recorded["cudaMalloc"] = []
        self.assertEqual(self.judge().verdict, FAILED)

    def test_what_was_recorded_twice_fails(self):
        self.recorded["cudaMalloc"] = ["cuMemAlloc_v2", "cuMemAlloc_v2"]
        self.assertEqual(self.judge().verdict, FAILED)

    def test_an_error_of_the_runtime_differs(self):
        self.action("cudaMallocAsync")["result"] = 801
        self.assertEqual(self.judge().verdict, DIFFERS)

    def test_no_trace_is_skipped_with_the_reason(self):
        self.traced["trace"] = "cuptiSubscribe returned 39"
        section = self.judge()
        self.assertEqual((section.verdict, "39" in section.summary), (SKIPPED, True))


class Comparable(unittest.TestCase):
    def numbers(self, addresses):
        events = [{"op": op, "layer": "vmm", "device": 0, "bytes": 1, "address": address} for op, address in addresses]
        return [row[-1] for row in verdicts.comparable(events)]

    def test_an_address_that_is_handed_out_again_is_a_new_one(self):
        recycled = [("alloc", "0x1"), ("free", "0x1"), ("alloc", "0x1"), ("map", "0x1"), ("free", "0x1")]
        fresh = [("alloc", "0x1"), ("free", "0x1"), ("alloc", "0x2"), ("map", "0x2"), ("free", "0x2")]
        self.assertEqual(self.numbers(recycled), [1, 1, 2, 2, 2])
        self.assertEqual(self.numbers(fresh), self.numbers(recycled))


class Totals(unittest.TestCase):
    BYTES = 4 * 64 * MIB

    def told(self, taken=None, kept=0, asked=None):
        taken = self.BYTES if taken is None else taken
        return {"asked": self.BYTES if asked is None else asked, "free_before": 1 << 40,
                "free_held": (1 << 40) - taken, "free_after": (1 << 40) - kept}

    def live(self, blocks=4, recorded=None, left=(0, 0)):
        recorded = self.BYTES if recorded is None else recorded
        return {"before": (1, 5), "held": (1 + blocks, 5 + recorded), "after": (1 + left[0], 5 + left[1])}

    def judge(self, name="linear", told=None, live=None):
        return verdicts.judge_family(name, told or self.told(), live or self.live(), 4)[0]

    def test_figures_that_agree(self):
        self.assertEqual(self.judge(), OK)
        self.assertEqual(self.judge(told=self.told(taken=self.BYTES + 8 * MIB)), OK)  # rounded up by the driver
        self.assertEqual(self.judge("stream-ordered", self.told(taken=self.BYTES + 32 * MIB)), OK)

    def test_a_wrong_record_fails(self):
        for live in (self.live(blocks=3), self.live(recorded=self.BYTES - 1), self.live(recorded=self.BYTES + 1),
                     self.live(recorded=0), self.live(left=(1, 64 * MIB)), self.live(left=(0, 1))):
            self.assertEqual(self.judge(live=live), FAILED, live)

    def test_a_device_that_gives_more_or_less_differs(self):
        self.assertEqual(self.judge(told=self.told(taken=self.BYTES - 2 * MIB)), DIFFERS)
        self.assertEqual(self.judge(told=self.told(taken=self.BYTES + 64 * MIB)), DIFFERS)
        self.assertEqual(self.judge(told=self.told(kept=64 * MIB)), DIFFERS)
        self.assertEqual(self.judge(told=self.told(kept=-64 * MIB)), DIFFERS)

    def test_host_memory_takes_nothing_of_the_device(self):
        self.assertEqual(self.judge("pinned", self.told(taken=0)), OK)
        self.assertEqual(self.judge("pinned", self.told()), DIFFERS)
        self.assertEqual(self.judge("registered", self.told(taken=0), self.live(recorded=1)), FAILED)

    def test_of_memory_elsewhere_the_handles_count(self):
        self.assertEqual(self.judge("ipc", self.told(taken=0), self.live(recorded=0)), OK)
        self.assertEqual(self.judge("ipc", self.told(taken=0), self.live(recorded=self.BYTES)), OK)
        self.assertEqual(self.judge("ipc", self.told(taken=0), self.live(blocks=0, recorded=0)), FAILED)
        # An object and the buffer in it.
        self.assertEqual(self.judge("external", self.told(taken=0), self.live(blocks=8, recorded=1)), OK)
        self.assertEqual(self.judge("external", self.told(taken=0), self.live(recorded=1)), FAILED)
        self.assertEqual(self.judge("multicast", self.told(taken=0), self.live(recorded=0)), OK)

    def test_a_context_takes_memory_of_its_own(self):
        self.assertEqual(self.judge("context", self.told(taken=self.BYTES + 1000 * MIB)), OK)
        self.assertEqual(self.judge("context", self.told(taken=0)), DIFFERS)

    def test_code_comes_with_globals(self):
        self.assertEqual(self.judge("module", live=self.live(recorded=self.BYTES + MIB)), OK)
        self.assertEqual(self.judge("module", live=self.live(recorded=self.BYTES - 1)), FAILED)
        self.assertEqual(self.judge("module", live=self.live(recorded=0)), DIFFERS)
        self.assertEqual(self.judge("module", live=self.live(blocks=0, recorded=0)), FAILED)
        self.assertEqual(self.judge("module", self.told(taken=0)), DIFFERS)

    def test_samples_of_pools_are_the_drivers_figures(self):
        for pool in ("pool", "graph"):
            told = {**self.told(), f"{pool}_reserved": 300 * MIB, f"{pool}_used": self.BYTES}
            self.assertEqual(self.judge(pool, {**told, "sampled": (300 * MIB, self.BYTES)}), OK)
            self.assertEqual(self.judge(pool, {**told, "sampled": (300 * MIB, 0)}), FAILED)
            self.assertEqual(self.judge(pool, {**told, "sampled": (0, self.BYTES)}), FAILED)

    def test_what_could_not_be_tried(self):
        self.assertEqual(self.judge(told={"skipped": "why"}), SKIPPED)
        self.assertEqual(self.judge(told={"failed": "cuMemAlloc_v2 returned 2"}), FAILED)

    def test_the_worst_family_decides(self):
        def section(*kinds):
            return verdicts.totals_section([(kind, "", ["linear"]) for kind in kinds]).verdict
        self.assertEqual(section(OK, SKIPPED), OK)
        self.assertEqual(section(SKIPPED), SKIPPED)
        self.assertEqual(section(OK, DIFFERS, SKIPPED), DIFFERS)
        self.assertEqual(section(FAILED, DIFFERS), FAILED)


class Sources(unittest.TestCase):
    def setUp(self):
        self.driver = [event("alloc", "0x100", 5), event("snapshot", "0x0"), event("alloc", "0x200", 6),
                       event("free", "0x100", 5)]
        # Other addresses, with a sample in between: still equal.
        self.cupti = [event("alloc", "0xa00", 5), event("alloc", "0xb00", 6), event("pool_sample", "0x1"),
                      event("free", "0xa00", 5)]

    def judge(self):
        return verdicts.judge_sources({"one": (self.driver, self.cupti)})

    def test_addresses_may_differ_and_samples_do_not_count(self):
        section = self.judge()
        self.assertEqual(section.verdict, OK)
        self.assertIn("3 events", section.summary)

    def test_differences_are_found(self):
        for change in (lambda e: e.pop(), lambda e: e[0].update(bytes=4), lambda e: e[3].update(address="0xb00"),
                       lambda e: e[1].update(layer="managed"), lambda e: e[1].update(api="cuMemAlloc"),
                       lambda e: e.insert(1, event("alloc", "0xc00", 1)), lambda e: e[1].update(result=2)):
            self.setUp()
            change(self.cupti)
            section = self.judge()
            self.assertEqual(section.verdict, DIFFERS)
            self.assertGreater(len(section.table), 1)

    def test_rows_name_what_each_side_has(self):
        self.assertEqual(verdicts.compare_events(list("abcd"), list("axd")), [[1, "b", "x"], [2, "c", "-"]])
        self.assertEqual(verdicts.compare_events(list("ad"), list("abcd")), [[1, "-", "b"], [2, "-", "c"]])
        self.assertEqual(len(verdicts.compare_events(list("a" * 100), [])), 30)

    def test_of_modules_only_coming_and_going_counts(self):
        self.driver.append(dict(event("module_load", "0x7000", api="cuModuleLoadData")))
        self.assertEqual(self.judge().verdict, DIFFERS)
        self.cupti.append(dict(event("module_load", "0x3", 900, api="")))
        self.assertEqual(self.judge().verdict, OK)

    def test_nothing_at_all_fails(self):
        self.driver = []
        self.cupti = []
        self.assertEqual(self.judge().verdict, FAILED)

    def test_a_source_that_was_not_on_is_skipped(self):
        self.assertEqual(verdicts.judge_sources({"one": "no libcupti"}).verdict, SKIPPED)

    def test_a_program_that_broke_fails_and_the_others_are_judged(self):
        section = verdicts.judge_sources({"one": GuestFailed("it crashed"), "two": (self.driver, self.cupti)})
        self.assertEqual(section.verdict, FAILED)
        self.assertIn("1 of 2 programs", section.summary)
        self.assertIn("failed: it crashed", section.table[1])


class OtherSections(unittest.TestCase):
    def test_a_profiler_gone_blind_fails(self):
        def judge(bare, beside, allocations):
            return verdicts.judge_profiler({"without memprof": {"events": bare},
                                            "memprof": {"events": beside, "allocations": allocations}}).verdict
        self.assertEqual(judge(30, 30, 5), OK)
        self.assertEqual(judge(30, 0, 5), FAILED)
        self.assertEqual(judge(30, 26, 5), DIFFERS)
        self.assertEqual(judge(30, 30, 0), FAILED)
        self.assertEqual(judge(0, 0, 5), SKIPPED)

    def test_overhead_is_the_median_of_the_rounds(self):
        judge = verdicts.judge_overhead
        self.assertEqual(judge("x", [1.0, 1.0, 1.0], [1.005, 1.5, 0.9], 1.0).verdict, OK)
        self.assertEqual(judge("x", [1.0, 1.0, 1.0], [1.02, 1.5, 0.9], 1.0).verdict, DIFFERS)
        self.assertEqual(judge("x", [1.0], [9.0], 1.0, judged=False).verdict, OK)
        self.assertIn("+2.00 % [-10.00 .. +50.00]", judge("x", [1.0, 1.0, 1.0], [1.02, 1.5, 0.9], 1.0).summary)

    def test_a_way_in_must_record_the_same_with_stacks(self):
        reference = verdicts.comparable([event("alloc", "0x1", 5), event("free", "0x1", 5)])

        def judge(events, frames):
            return verdicts.judge_ways_in(reference, {"way": (events, frames)}).verdict
        self.assertEqual(judge(list(reference), 1), OK)
        self.assertEqual(judge(list(reference), 0), DIFFERS)
        self.assertEqual(judge(reference[:1], 1), DIFFERS)
        self.assertEqual(judge([], 0), FAILED)
        self.assertEqual(judge("not built", 0), SKIPPED)


class GpuMachine:
    """A machine with a GPU and PyTorch, of which only the answers exist."""

    stand_in, toolkit = False, None

    def __init__(self, has_torch=True, slower=1.0):
        self.has_torch, self.slower = has_torch, slower

    def run(self, command, extra=None, most_s=60):
        if "-c" in command:
            if not self.has_torch:
                raise GuestFailed("python3 ended with 1: No module named torch")
            return "True 2.6.0\n"
        return self.output(command, 0.01)

    def record(self, command, extra=None, injected=False, most_s=60):
        return self.output(command, 0.01 * self.slower), Path("a.mprof")

    @staticmethod
    def output(command, seconds):
        told = {"seconds_per_step": seconds} if Path(command[1]).name == "torch_step.py" else {"events": 30}
        return f"a warning of torch\n{json.dumps(told)}\n"

    answer = staticmethod(json.loads)

    @staticmethod
    def report(log):
        return {"events": {"allocations": 4}, "source_states": [{"name": "driver", "state": "on", "detail": ""}]}

    @staticmethod
    def left_s():
        return 400


class WithTorch(unittest.TestCase):
    options = argparse.Namespace(rounds=3, blocks=1, block_bytes=MIB)

    def test_a_profiler_and_steps(self):
        self.assertEqual(sections.profiler(GpuMachine(), self.options).verdict, OK)
        section = torch_sections.overhead(GpuMachine(slower=1.001), self.options)
        self.assertEqual((section.verdict, len(section.table)), (OK, 4))
        self.assertIn("2.6.0", section.notes[0])
        self.assertEqual(torch_sections.overhead(GpuMachine(slower=1.05), self.options).verdict, DIFFERS)

    def test_nothing_without_it(self):
        for section in (sections.profiler, torch_sections.overhead):
            found = section(GpuMachine(has_torch=False), self.options)
            self.assertEqual((found.verdict, found.summary), (SKIPPED, "there is no PyTorch with a GPU"))


class Steps(unittest.TestCase):
    def test_seconds_are_of_the_steps_after_the_first_line(self):
        lines = [(0.0, "model: big"), (9.0, "step 0: loss 5"), (10.0, "step 20: loss 4"), (11.0, "step 40: loss 3"),
                 (11.5, "step 49: loss 3"), (20.0, "done")]
        self.assertAlmostEqual(sections.step_seconds(lines), 1.5 / 29)
        self.assertIsNone(sections.step_seconds(lines[:3]))
        self.assertIsNone(sections.step_seconds([]))
        self.assertIsNone(sections.step_seconds([(1.0, line) for _, line in lines]))


class Pools(unittest.TestCase):
    def test_the_last_sample_of_each_pool_before_the_mark(self):
        def sample(address, reserved, used, layer="stream-ordered"):
            return dict(event("pool_sample", address, reserved, layer), aux0=used)
        events = [sample("0x1", 10, 5), sample("0x2", 20, 6), sample("0x1", 11, 4), sample("0x3", 99, 99, "graph"),
                  dict(event("snapshot", "0x0"), name="held"), sample("0x1", 77, 77)]
        machine = Machine(Path("/nonexistent"), "/nonexistent", True, 1)
        machine.events = lambda log: events
        self.assertEqual(machine.pools(None, "stream-ordered", "held"), (31, 10))
        self.assertEqual(machine.pools(None, "vmm", "held"), (0, 0))


class Marks(unittest.TestCase):
    def test_functions_belong_to_the_mark_before_them(self):
        events = [event("alloc", "0x1"), dict(event("snapshot", "0x0"), name="a", api=""), event("alloc", "0x1"),
                  event("memory_info", "0x0", api=""), dict(event("snapshot", "0x0"), name="b", api=""),
                  event("free", "0x1", api="cuMemFree_v2"), event("free", "0x1", api="cuMemFreeAsync")]
        self.assertEqual(sections.functions_by_mark(events),
                         {"a": ["cuMemAlloc_v2"], "b": ["cuMemFree_v2", "cuMemFreeAsync"]})

    def test_frames_of_the_program_are_told_from_others(self):
        mine = dict(event("alloc", "0x1"), stack=[{"function": "cudaMalloc"}, {"function": "RunAction"}])
        other = dict(event("alloc", "0x1"), stack=[{"function": "cudaMalloc"}, {}])
        freed = dict(mine, op="free")
        self.assertEqual(sections.program_frames([mine, other, freed, mine]), 2)


class Report(unittest.TestCase):
    def test_everything_is_in_it(self):
        sections = [verdicts.Section("One", OK, "fine", [["a", "b"], ["x|y", 2]], ["A note."]),
                    verdicts.Section("Two", SKIPPED, "no reason"), verdicts.Section("Three", FAILED, "bad")]
        text = report.render(sections, ([("GPU", "a GPU"), ("CPUs", 2)], ["It was busy."]), stand_in=False)
        for part in ("| GPU | a GPU |", "| CPUs | 2 |", "* It was busy.", "## One: ok", "| x\\|y | 2 |", "A note.", "## Two: skipped: no reason",
                     "| Three | **failed** | bad | 0.0 |"):
            self.assertIn(part, text)
        self.assertNotIn("stand-in", text)
        self.assertIn("nothing about a GPU", report.render(sections, ([("GPU", "none")], []), stand_in=True))


if __name__ == "__main__":
    unittest.main()
