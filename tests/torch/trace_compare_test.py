"""trace_compare.py on hand-made histories: equal histories have no findings, and each kind of difference is found
once, with its name."""
import copy
import random
import unittest

import trace_compare
from trace_compare import BlockSizes, compare_rows, compare_segments

SCRIPT = "/home/user/train.py"
MIB = 1 << 20


def frames(line):
    return [{"filename": "/lib/torch/nn/linear.py", "line": 7, "name": "forward"},
            {"filename": SCRIPT, "line": line, "name": "step"}]


def entry(action, address, size, line=0):
    return {"action": action, "addr": address, "size": size, "frames": frames(line) if line else []}


TRACE = [entry("segment_alloc", 4096, 2 * MIB, 3), entry("alloc", 4096, 1000, 3), entry("alloc", 5120, 40, 4),
         entry("free_requested", 4096, 1000), entry("free_completed", 4096, 1000),
         entry("alloc", 4096, 513, 5), {"action": "oom", "device_free": 1, "size": 64 * MIB, "frames": frames(6)},
         entry("snapshot", 0, 0)]


def dumped():
    def event(op, layer, address, size, line=0):
        stack = [{"function": "at::empty", "file": "", "line": 0, "module": "libtorch.so"},
                 {"function": "Linear.forward", "file": "/lib/torch/nn/linear.py", "line": 7, "module": "python"},
                 {"function": "step", "file": SCRIPT, "line": line, "module": "python"}] if line else []
        return {"op": op, "layer": layer, "address": hex(address), "bytes": size, "stack": stack}
    return [event("alloc", "linear", 4096, 2 * MIB, 3), event("alloc", "segment", 4096, 2 * MIB, 3),
            event("alloc", "block", 4096, 1024, 3), event("alloc", "block", 5120, 512, 4),
            event("free", "block", 4096, 1024), event("alloc", "block", 4096, 1024, 5),
            event("framework_oom", "block", 0, 64 * MIB, 6)]


class RowTest(unittest.TestCase):
    def setUp(self):
        self.theirs = [event for event in trace_compare.history_events(TRACE, BlockSizes())
                       if event.what != "free_completed"]
        self.events = dumped()

    def found(self):
        return compare_rows(self.theirs, trace_compare.logged_events(self.events), SCRIPT)

    def assert_found(self, *sentences):
        self.assertEqual(self.found(), list(sentences))

    def test_the_same(self):
        self.assert_found()

    def test_event_that_the_log_lacks(self):
        del self.events[3]
        self.assert_found("event 2: PyTorch lists alloc of 512 bytes at 0x1400, the log does not (here)")

    def test_event_that_only_the_log_has(self):
        self.events.insert(5, dict(self.events[4], address="0x1400", bytes=512))
        self.assert_found("event 4: the log lists free_requested of 512 bytes at 0x1400, PyTorch does not (here)")

    def test_another_address(self):
        self.events[5]["address"] = "0x1800"
        self.assert_found("event 4: PyTorch lists alloc of 1024 bytes at 0x1000, the log does not (here)",
                          "event 4: the log lists alloc of 1024 bytes at 0x1800, PyTorch does not (here)")

    def test_another_order(self):
        self.events[2:4] = self.events[3:1:-1]
        self.assertEqual(len(self.found()), 2)

    def test_another_size(self):
        self.events[5]["bytes"] = 512
        self.assert_found("event 4, alloc of 1024 bytes at 0x1000: the log says 512 bytes")

    def test_size_of_a_free(self):
        self.events[4]["bytes"] = 512
        self.assert_found("event 3, free_requested of 1024 bytes at 0x1000: the log says 512 bytes")

    def test_failed_request_that_the_log_lacks(self):
        del self.events[-1]
        self.assertIn("PyTorch lists oom", self.found()[0])

    def test_line_of_the_script(self):
        self.events[3]["stack"][2]["line"] = 9
        self.assert_found("event 2, alloc of 512 bytes at 0x1400: line of the script: "
                          f"PyTorch {SCRIPT}:4 (step), the log {SCRIPT}:9 (step)")

    def test_innermost_line(self):
        self.events[3]["stack"][1]["line"] = 8
        self.assert_found("event 2, alloc of 512 bytes at 0x1400: innermost line: PyTorch "
                          "/lib/torch/nn/linear.py:7 (forward), the log /lib/torch/nn/linear.py:8 (forward)")

    def test_frame_further_out(self):
        self.events[3]["stack"].append({"function": "main", "file": SCRIPT, "line": 1, "module": "python"})
        self.assert_found("event 2, alloc of 512 bytes at 0x1400: Python frame 2: PyTorch none, "
                          f"the log {SCRIPT}:1 (main)")

    def test_no_stack(self):
        self.events[3]["stack"] = []
        self.assert_found("event 2, alloc of 512 bytes at 0x1400: PyTorch has a Python stack of 2 frames, "
                          "innermost /lib/torch/nn/linear.py:7 (forward), the log none")

    def test_stack_that_only_the_log_has(self):
        self.theirs[2] = trace_compare.Event("alloc", 5120, 512, ())
        self.assertEqual(len(self.found()), 2)

    def test_forward_code_that_the_log_adds(self):
        for name, file in (("backward of Model.forward", SCRIPT), ("backward within main", SCRIPT),
                           ("backward: MulBackward0", ""), ("backward", "")):
            self.events = dumped()
            for function, place in ((name, file), ("main", SCRIPT)):
                self.events[3]["stack"].append({"function": function, "file": place, "line": 9,
                                                "module": "python"})
            self.assert_found()

    def test_a_function_of_the_name_backward(self):
        self.events[3]["stack"].append({"function": "Mine.backward", "file": SCRIPT, "line": 9,
                                        "module": "python"})
        self.assertEqual(len(self.found()), 1)


class BlockSizesTest(unittest.TestCase):
    def test_remainder_of_a_large_segment(self):
        for asked, size in ((19 * MIB, 20 * MIB), (19 * MIB - 1, 20 * MIB), (19 * MIB - 512, 19 * MIB - 512)):
            sizes = BlockSizes()
            sizes.begin_segment(0, 20 * MIB)
            self.assertEqual(sizes.allocate(0, asked), size)

    def test_address_at_which_no_block_begins(self):
        sizes = BlockSizes()
        sizes.begin_segment(0, 2 * MIB)
        with self.assertRaises(ValueError):
            sizes.allocate(512, 1)
        with self.assertRaises(ValueError):
            sizes.allocate(0, 3 * MIB)

    def test_neighbours_join_within_their_segment_only(self):
        for addresses in ((0, 2 * MIB), (2 * MIB, 0)):
            sizes = BlockSizes()
            for address in addresses:
                sizes.begin_segment(address, 2 * MIB)
            self.assertEqual(sizes.free, {0: 2 * MIB, 2 * MIB: 2 * MIB})

    def test_pages_come_and_go(self):
        sizes = BlockSizes()
        sizes.map_pages(0, 20 * MIB)
        sizes.map_pages(20 * MIB, 2 * MIB)
        self.assertEqual(sizes.free, {0: 22 * MIB})
        self.assertEqual(sizes.allocate(0, 10 * MIB), 10 * MIB)  # the rest may be small
        self.assertEqual(sizes.allocate(10 * MIB, 12 * MIB - 512), 12 * MIB - 512)
        sizes.release(0)
        sizes.unmap_pages(2 * MIB, 6 * MIB)
        self.assertEqual(sizes.free, {0: 2 * MIB, 8 * MIB: 2 * MIB, 22 * MIB - 512: 512})
        with self.assertRaises(ValueError):
            sizes.unmap_pages(MIB, 2 * MIB)

    def test_against_bytes_one_by_one(self):
        """After any allocations and frees, free blocks are the maximal runs of free units."""
        chance, sizes, units = random.Random(7), BlockSizes(), [False] * 4096
        sizes.begin_segment(0, 2 * MIB)
        for _ in range(2000):
            if sizes.live and chance.random() < 0.5:
                address = chance.choice(list(sizes.live))
                size, used = sizes.live[address], False
                sizes.release(address)
            else:
                asked = chance.randint(1, 20000)
                fits = [a for a, free in sizes.free.items() if free >= trace_compare.rounded(asked)]
                if not fits:
                    continue
                address, used = chance.choice(fits), True
                size = sizes.allocate(address, asked)
                self.assertEqual(size, trace_compare.rounded(asked))
            self.assertEqual(set(units[address // 512:(address + size) // 512]), {not used})
            units[address // 512:(address + size) // 512] = [used] * (size // 512)
            runs, begin = {}, 0
            for i in range(4097):
                if i == 4096 or units[i]:
                    if i > begin:
                        runs[begin * 512] = (i - begin) * 512
                    begin = i + 1
            self.assertEqual(sizes.free, runs)


class JoinedPagesTest(unittest.TestCase):
    def test_only_what_adjoins_and_is_of_one_kind_and_place(self):
        def row(*events):
            return [trace_compare.Event(what, address, size, stack) for what, address, size, stack in events]

        self.assertEqual(trace_compare.joined_pages(row(
            ("segment_map", 0, 2, ("a",)), ("segment_map", 2, 2, ("a",)), ("segment_map", 5, 2, ("a",)),
            ("segment_map", 7, 1, ("b",)), ("alloc", 8, 1, ("b",)), ("alloc", 9, 1, ("b",)),
            ("segment_unmap", 2, 2, None), ("segment_unmap", 0, 2, None))), row(
                ("segment_alloc", 0, 4, ("a",)), ("segment_alloc", 5, 2, ("a",)), ("segment_alloc", 7, 1, ("b",)),
                ("alloc", 8, 1, ("b",)), ("alloc", 9, 1, ("b",)), ("segment_free", 0, 4, None)))


SEGMENT = {"device": 0, "address": 4096, "total_size": 2 * MIB, "allocated_size": 1024, "active_size": 1024,
           "stream": 0, "segment_type": "small", "segment_pool_id": (0, 0), "is_expandable": False,
           "blocks": [{"address": 4096, "size": 1024, "requested_size": 1000, "state": "active_allocated",
                       "frames": frames(3)},
                      {"address": 5120, "size": 2 * MIB - 1024, "requested_size": 5000, "state": "inactive",
                       "frames": []}]}


class SegmentTest(unittest.TestCase):
    def setUp(self):
        self.ours = [copy.deepcopy(SEGMENT)]
        self.block = self.ours[0]["blocks"][0]

    def assert_found(self, *texts):
        self.assertEqual(compare_segments([SEGMENT], self.ours, SCRIPT), list(texts))

    def test_the_same(self):
        self.block["requested_size"] = 1024
        self.ours[0]["blocks"][1]["requested_size"] = 0
        self.block["frames"] = [{"filename": "??", "line": 0, "name": "at::empty"}, *frames(3)]
        self.assert_found()

    def test_each_field(self):
        for field in trace_compare.SEGMENT_FIELDS:
            self.ours = [dict(copy.deepcopy(SEGMENT), **{field: "other"})]
            self.assert_found(f"segment 0x1000 of device 0: {field}: PyTorch {SEGMENT[field]}, the export other")

    def test_segments_that_one_side_lacks(self):
        self.ours[0]["address"] = 8192
        self.assert_found("segment 0x1000 of device 0: only in PyTorch's own snapshot",
                          "segment 0x2000 of device 0: only in the exported snapshot")

    def test_private_pools_may_have_other_numbers_but_not_other_members(self):
        def of(*pools):
            return [dict(copy.deepcopy(SEGMENT), address=i << 21, blocks=[], segment_pool_id=pool)
                    for i, pool in enumerate(pools)]

        theirs = of((0, 0), (0, 1), (1, 0), (0, 1))
        for ours, differ in (((0, 0), (2, 0), (1, 0), (2, 0)), 0), (((0, 0), (1, 0), (1, 0), (1, 0)), 1), \
                (((0, 0), (2, 0), (1, 0), (3, 0)), 1), (((0, 0), (0, 0), (1, 0), (0, 0)), 2), \
                (((1, 0), (0, 1), (2, 0), (0, 1)), 1):
            self.assertEqual(len(compare_segments(theirs, of(*ours), SCRIPT)), differ, ours)

    def test_blocks(self):
        where = "block 0x1000 of segment 0x1000 of device 0: "
        for field, value, words in (
                ("size", 1536, "size: PyTorch 1024, the export 1536"),
                ("state", "active_pending_free", "state: PyTorch active_allocated, the export active_pending_free"),
                ("requested_size", 512, "requested_size: PyTorch 1000, the export 512"),
                ("frames", frames(4), f"line of the script: PyTorch {SCRIPT}:3 (step), the log {SCRIPT}:4 (step)")):
            self.block.update(SEGMENT["blocks"][0])
            self.block[field] = value
            self.assert_found(where + words)

    def test_block_that_the_export_lacks(self):
        del self.ours[0]["blocks"][1]
        self.assert_found("block 0x1400 of segment 0x1000 of device 0: only in PyTorch's own snapshot")

    def test_block_that_only_the_export_has(self):
        self.ours[0]["blocks"].append(dict(self.block, address=6144))
        self.assert_found("block 0x1800 of segment 0x1000 of device 0: only in the exported snapshot")


if __name__ == "__main__":
    unittest.main()
