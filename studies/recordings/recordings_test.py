"""The comparison, on small made snapshots, and the rows."""
import pathlib
import pickle
import subprocess
import sys
import tempfile
import unittest

import compare
import logged
import study

MIB = 1 << 20


def event(action, addr, size=0, stream=0, line=0):
    frames = [{"filename": "??", "line": 0, "name": "f"}, {"filename": "/x/train.py", "line": line, "name": "step"}]
    return {"action": action, "addr": addr, "size": size, "stream": stream, "frames": frames if line else []}


def segment(address, total, *blocks):
    return {"address": address, "total_size": total, "device": 0, "stream": 0,
            "blocks": [{"size": size, "requested_size": requested, "state": state} for size, requested, state in blocks]}


def snapshot(trace, *segments):
    return {"device_traces": [trace], "segments": list(segments)}


def training(base=0x1000, stream=0, swapped=False, last=700):
    """A segment of 2 MiB that was there before, another of 20 MiB, and three blocks, of which two are freed."""
    large = base + 8 * MIB
    first, second = (base, large) if not swapped else (large, base)
    return snapshot([event("alloc", base, 500, stream, line=3), event("segment_alloc", large, 20 * MIB, stream),
                     event("alloc", large, 3 * MIB, stream), event("alloc", base + 512, last, stream, line=9),
                     *(event(action, at, 500 if at == base else 3 * MIB, stream)
                       for at in (first, second) for action in ("free_requested", "free_completed"))],
                    segment(base, 2 * MIB, (512, 500, "inactive"), (1024, last, "active_allocated")),
                    segment(large, 20 * MIB, (20 * MIB, 3 * MIB, "inactive")))


class CompareTest(unittest.TestCase):
    def test_the_same_at_other_addresses(self):
        result = compare.compare(training(), training(base=0x7000000, stream=0xabc))
        self.assertIsNone(result["differs_at"])
        self.assertTrue(result["same_places"])
        self.assertEqual((result["events"], result["only_real"], result["only_here"]), (8, 0, 0))

    def test_peaks(self):
        self.assertEqual(compare.peaks(training(), 0), (3 * MIB + 1200, 22 * MIB))
        freed = training()
        freed["device_traces"][0] += [event("segment_free", 0x1000 + 8 * MIB, 20 * MIB)]
        del freed["segments"][1]
        self.assertEqual(compare.peaks(freed, 0), (3 * MIB + 1200, 22 * MIB))

    def test_peak_before_the_first_event(self):
        made = snapshot([event("free_requested", 0x1000, 900)], segment(0x1000, 2 * MIB, (1024, 0, "inactive")))
        self.assertEqual(compare.peaks(made, 0), (900, 2 * MIB))

    def test_another_size(self):
        result = compare.compare(training(), training(last=701))
        self.assertEqual(result["differs_at"], 3)
        self.assertEqual(result["difference"], ["alloc 700 stream 0 train.py:9", "alloc 701 stream 0 train.py:9"])
        self.assertEqual((result["only_real"], result["only_here"]), (1, 1))
        self.assertFalse(result["same_but_for_frees"])
        self.assertEqual(result["allocated_here"] - result["allocated"], 1)

    def test_more_events(self):
        longer = training()
        longer["device_traces"][0].append(event("alloc", 0x1000, 8))
        result = compare.compare(training(), longer)
        self.assertEqual((result["differs_at"], result["difference"][0]), (8, "the end"))

    def test_order_of_frees(self):
        result = compare.compare(training(), training(swapped=True))
        self.assertEqual(result["differs_at"], 4)
        self.assertTrue(result["same_but_for_frees"])

    def test_streams_are_compared(self):
        other = training()
        other["device_traces"][0][2]["stream"] = 5
        self.assertEqual(compare.compare(training(), other)["differs_at"], 2)

    def test_another_place(self):
        moved = training()
        moved["device_traces"][0][3]["addr"] += 512
        result = compare.compare(training(), moved)
        self.assertIsNone(result["differs_at"])
        self.assertFalse(result["same_places"])

    def test_a_segment_at_the_address_of_an_earlier_one_is_another(self):
        trace = [event("segment_alloc", 0x1000, MIB), event("segment_free", 0x1000, MIB)]
        twice = snapshot([*trace, *trace])
        self.assertEqual(compare.places(twice, 0), [(0, 0), (0, 0), (2, 0), (2, 0)])

    def test_several_devices(self):
        two = training()
        two["device_traces"].append([event("alloc", 0x50, 10)])
        two["segments"].append({**segment(0x50, 2 * MIB, (512, 10, "active_allocated")), "device": 1})
        result = compare.compare(two, training())
        self.assertEqual((result["events"], result["events_here"], result["differs_at"]), (9, 8, 0))
        self.assertEqual(result["reserved"] - result["reserved_here"], 2 * MIB)

    def test_marks_are_left_out(self):
        marked = training()
        marked["device_traces"][0].insert(2, event("snapshot", 0))
        self.assertIsNone(compare.compare(training(), marked)["differs_at"])


class LoadTest(unittest.TestCase):
    def test_a_snapshot(self):
        self.assertEqual(compare.load(pickle.dumps(training())), training())

    def test_what_is_none(self):
        class Bad:
            def __reduce__(self):
                return print, ("called",)
        for data in (b"", b"PK", pickle.dumps([1]), pickle.dumps({"segments": []}), pickle.dumps(Bad()),
                     pickle.dumps({"segments": 1, "device_traces": 2}), pickle.dumps(training())[:-9]):
            with self.assertRaises(ValueError):
                compare.load(data)


class LogTest(unittest.TestCase):
    EVENTS = [("alloc", "segment", 0x1000, 2 * MIB), ("alloc", "block", 0x1000, 512),
              ("alloc", "segment", 0x1000 + 8 * MIB, 20 * MIB), ("alloc", "block", 0x1000 + 8 * MIB, 3 * MIB),
              ("alloc", "block", 0x1200, 1024), ("free", "block", 0x1000, 512),
              ("free", "block", 0x1000 + 8 * MIB, 3 * MIB), ("alloc", "segment", 0x9, 90 * MIB)]

    def test_the_snapshots_time(self):
        self.assertEqual(logged.window(self.EVENTS, training()["device_traces"][0]), (1, 7))
        self.assertEqual(logged.most(self.EVENTS, 1, 7), {"block": 3 * MIB + 1536, "segment": 22 * MIB})

    def test_a_log_without_one_of_the_events(self):
        self.assertIsNone(logged.window(self.EVENTS[:5], training()["device_traces"][0]))
        self.assertIsNone(logged.window([*self.EVENTS[:4], self.EVENTS[1], *self.EVENTS[4:]],
                                        training()["device_traces"][0]))


class RowsTest(unittest.TestCase):
    def test_the_rows_are_complete(self):
        rows = study.read_rows()
        self.assertEqual(len({row.id for row in rows}), len(rows))
        for row in rows:
            self.assertRegex(row.repository, r"^[\w.-]+/[\w.-]+$")
            self.assertRegex(row.commit, "^[0-9a-f]{40}$")
            self.assertRegex(row.torch, r"^\d+\.\d+\.\d+$")
            self.assertIn(row.seen, ("before", "new"))
            self.assertTrue(row.sources)
            self.assertRegex(row.also, r"^([\w.-]+/[\w.-]+@[0-9a-f]{40})?$")
            study.environment_of(row, pathlib.Path("/x"))

    def test_a_clone_without_some_objects(self):
        with tempfile.TemporaryDirectory() as folder:
            clone, out = pathlib.Path(folder, "clone"), pathlib.Path(folder, "out")
            clone.mkdir()
            git = ["git", "-C", str(clone), "-c", "user.name=x", "-c", "user.email=x"]
            (clone / "a.py").write_text("a = 1\n")
            (clone / "big").write_text("big")
            (clone / "link").symlink_to("/etc/passwd")
            for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "x"]):
                subprocess.run([*git, *command], check=True)
            big = study.git(clone, "rev-parse", "HEAD:big").decode().strip()
            (clone / ".git/objects" / big[:2] / big[2:]).unlink()
            study.write_tree(clone, "HEAD", out)
            self.assertEqual([path.name for path in out.iterdir()], ["a.py"])
            self.assertEqual((out / "a.py").read_text(), "a = 1\n")


    def test_packages_of_the_repository_are_as_if_installed(self):
        with tempfile.TemporaryDirectory() as folder:
            tree = pathlib.Path(folder)
            (tree / "inner").mkdir()
            (tree / "pyproject.toml").write_text('[project]\nname = "their-systems"\n')
            (tree / "inner/pyproject.toml").write_text("[tool.ruff]\n")
            study.write_metadata(tree)
            row = study.dataclasses.replace(TableTest.ROW, environment="PYTHONPATH=inner:. A='b c'")
            settings = study.environment_of(row, tree)
            self.assertEqual(settings, {"A": "b c", "PYTHONPATH": f"{tree}/inner:{tree}:{tree}/also"})
            asks = "import importlib.metadata as m; print(m.version('their_systems'))"
            found = subprocess.run([sys.executable, "-c", asks], env=settings, capture_output=True, text=True,
                                   check=True).stdout
            self.assertEqual(found, "0\n")


class TableTest(unittest.TestCase):
    ROW = study.Row("x", "a/b", "0" * 40, "r.pickle", "", ".", "x.py", "", "r.pickle", "2.6.0", "", "T4", "y", "new")

    def result(self, here=None):
        return {**compare.compare(training(), here or training()), "log_agrees": True}

    def line(self, result):
        return study.line_of(self.ROW, result).split()

    def test_lines(self):
        self.assertEqual(self.line(self.result()), ["x", "T4", "2.6.0", "new", "8", "3.0", "=", "22.0", "=", "=",
                                                    "identical,", "places", "too"])
        self.assertIn("differs at 3, 1 and 1 events", study.line_of(self.ROW, self.result(training(last=701))))
        self.assertIn("failed: status 1", study.line_of(self.ROW, {"failed": "status 1"}))

    def test_counts(self):
        rows = [self.ROW, study.dataclasses.replace(self.ROW, id="y"), study.dataclasses.replace(self.ROW, id="z")]
        results = {"x": self.result(), "y": self.result(training(swapped=True)), "z": {"failed": "no"}}
        self.assertEqual(study.table(rows, results)[-1],
                         "new: 2 compared; events identical in 1, and but for the order of frees in 1 more; peak "
                         "allocated equal in 2, peak reserved equal in 2")


if __name__ == "__main__":
    unittest.main()
