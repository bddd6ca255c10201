"""`memprof fleet grid` against a twin in plain Python, and what may go wrong.

usage: grid_test.py SOURCE_DIR
"""
import io
import json
import math
import os
import pathlib
import random
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import unittest
from contextlib import redirect_stderr, redirect_stdout

SOURCE = pathlib.Path(sys.argv[1])
sys.path[:0] = [str(SOURCE / "python"), str(SOURCE / "tests/fleet")]

import made_rows  # noqa: E402
from memprof._fleet import __main__ as command, grid, names, storage, writer  # noqa: E402

try:
    import duckdb  # noqa: F401
    import pyarrow.parquet as pq
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)


def run(*arguments):
    """(status, stderr) of the command."""
    errors = io.StringIO()
    with redirect_stdout(io.StringIO()), redirect_stderr(errors):
        status = command.main(["grid", *map(str, arguments)])
    return status, errors.getvalue()


def read(path):
    """(the line, a list of rows of doubles)."""
    content = pathlib.Path(path).read_bytes()
    line = content.index(b"\n") + 1
    assert line % 8 == 0
    head = json.loads(content[:line])
    columns = head["columns"]
    values = struct.unpack(f"<{len(head['rows']) * columns}d", content[line:])
    return head, [list(values[row * columns:(row + 1) * columns]) for row in range(len(head["rows"]))]


def twin(ranks, figure):
    """(rows as (run, distance, run of the typical rank), {run: cells}, first step, stride) of [(run, tables)]."""
    steps = {run: [(row["step"], row[figure]) for row in tables["rank_step"]
                   if row.get(figure) is not None and row["device"] == tables["runs"][0]["device"]] for run, tables in ranks}
    every = [step for of_run in steps.values() for step, _ in of_run]
    first, last = min(every), max(every)
    stride = -(-(last - first + 1) // grid.MOST_COLUMNS)
    columns = (last - first) // stride + 1
    cells = {run: [math.nan] * columns for run in steps}
    for run, of_run in steps.items():
        for step, value in of_run:
            column = (step - first) // stride
            cells[run][column] = value if math.isnan(cells[run][column]) else max(value, cells[run][column])
    stage = {run: tables["runs"][0].get("pipeline_rank") for run, tables in ranks}
    z = {run: [None] * columns for run in steps}
    for of_stage in set(stage.values()):
        for column in range(columns):
            there = {run: cells[run][column] for run in cells if stage[run] == of_stage and not math.isnan(cells[run][column])}
            if len(there) < 4:
                continue
            middle = statistics.median(there.values())
            scale = max(1.4826 * statistics.median(abs(value - middle) for value in there.values()), 0.01 * abs(middle), 1)
            for run, value in there.items():
                z[run][column] = (value - middle) / scale
    distance, away = {}, {}
    for run, of_run in z.items():
        parts = [[] for _ in range(8)]
        for column, value in enumerate(of_run):
            if value is not None:
                parts[column * 8 // columns].append(value)
        medians = [statistics.median(part) for part in parts if part]
        distance[run] = max(medians, key=abs) if medians else None
        known = [abs(value) for value in of_run if value is not None]
        away[run] = (statistics.mean(known) if known else None, len(known))
    number = {run: (tables["runs"][0]["rank"], run) for run, tables in ranks}
    order = sorted(steps, key=lambda run: (distance[run] is None, -abs(distance[run] or 0), number[run]))
    rows = []
    for run in order:
        judged = [other for other in steps if stage[other] == stage[run] and distance[other] is not None]
        whole = statistics.median(away[other][1] for other in judged) if judged else 0
        best = sorted(judged, key=lambda other: (away[other][1] < whole, away[other][0], number[other]))[:2]
        rows.append((run, distance[run], next((other for other in best if other != run), None)))
    return rows, cells, first, stride


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.fleet, self.file = self.folder / "fleet", self.folder / "grid"
        names.create(storage.Local(), str(self.fleet))

    def put(self, ranks):
        for run_name, tables in ranks:
            writer.write(storage.Local(), str(self.fleet), run_name, tables)

    def made(self, *arguments):
        status, errors = run(self.fleet, "-o", self.file, *arguments)
        self.assertEqual((status, errors), (0, ""))
        return read(self.file)

    def compare(self, ranks, figure):
        head, values = self.made("--figure", figure)
        rows, cells, first, stride = twin(ranks, figure)
        self.assertEqual((head["first_step"], head["step_stride"]), (first, stride))
        self.assertEqual([row["run"] for row in head["rows"]], [run_name for run_name, _, _ in rows])
        for row, (run_name, distance, typical), of_row in zip(head["rows"], rows, values):
            self.assertEqual(typical, row["typical"] if row["typical"] is None else head["rows"][row["typical"]]["run"])
            if distance is None:
                self.assertIsNone(row["distance"])
            else:
                self.assertAlmostEqual(row["distance"], distance)
            self.assertEqual([None if math.isnan(value) else value for value in of_row],
                             [None if math.isnan(value) else value for value in cells[run_name]])


def random_ranks(seed):
    """Ranks of two stages with steps that repeat, are missing, of another device or unknown, and a rank without any."""
    random_ = random.Random(seed)
    ranks = []
    for rank in range(random_.randrange(9, 24)):
        run_name, rows = made_rows.multiplied(made_rows.template(random_.choice((7, 30))), "j", rank, 24, 2, 0, seed, noise=0.05)
        for row in rows["rank_step"]:
            row["step"] += random_.choice((0, 0, 0, 1, 3))
            row["device"] = random_.choice((0,) * 9 + (1,))
            if random_.random() < 0.1:
                row["peak"] = None
            if random_.random() < 0.02:
                row["peak"] = 2 * (row["peak"] or 0)
        if rank == 3:
            rows["rank_step"] = []
        ranks.append((run_name, rows))
    return ranks


class Grids(Case):
    def test_it_is_what_its_twin_computes(self):
        for seed in range(6):
            self.setUp()
            ranks = random_ranks(seed)
            self.put(ranks)
            self.compare(ranks, "peak")
        self.compare(ranks, "duration")

    def test_long_runs_have_columns_of_several_steps_and_work_goes_in_parts(self):
        before = grid.MOST_COLUMNS, grid.BLOCK
        self.addCleanup(lambda: setattr(grid, "MOST_COLUMNS", before[0]) or setattr(grid, "BLOCK", before[1]))
        grid.MOST_COLUMNS, grid.BLOCK = 9, 40
        ranks = random_ranks(7)
        self.put(ranks)
        self.compare(ranks, "peak")
        self.assertEqual(self.made()[0]["step_stride"], 4)

    def test_seeded_ranks_come_first_with_the_typical_one_of_their_stage(self):
        ranks = []
        for rank in range(64):
            run_name, rows = made_rows.multiplied(made_rows.template(80), "j", rank, 64, 4)
            if rank in (5, 40):  # half way through, a leak of a tenth
                made_rows.leak(rows, 100 << 20, 40)
            for row in rows["rank_step"]:
                row["allocated_peak"] = int(row["allocated_peak"] * {7: 1.06, 50: 0.94}.get(rank, 1))
                if rank == 20 and row["step"] == 33:
                    row["allocated_peak"] *= 2  # one odd step is no odd rank
            ranks.append((run_name, rows))
        self.put(ranks)
        head, _ = self.made()
        self.assertEqual({row["rank"] for row in head["rows"][:4]}, {5, 40, 7, 50})
        self.assertEqual({row["rank"] for row in head["rows"] if abs(row["distance"]) > 3.5}, {5, 40, 7, 50})
        for row in head["rows"]:
            self.assertEqual(head["rows"][row["typical"]]["stage"], row["stage"])
            self.assertLess(abs(head["rows"][row["typical"]]["distance"]), 1)
        self.assertEqual((head["figure"], head["unit"], head["columns"]), ("allocated_peak", "bytes", 80))

    def test_few_ranks_have_no_distance(self):
        self.put([made_rows.multiplied(made_rows.template(5), "j", rank, 3, 1) for rank in range(3)])
        head, values = self.made()
        self.assertEqual([(row["rank"], row["distance"], row["typical"]) for row in head["rows"]],
                         [(rank, None, None) for rank in range(3)])
        self.assertEqual(len(values[0]), 5)

    def test_a_rank_that_holds_what_others_do_not_is_apart_of_nothing(self):
        ranks = [made_rows.multiplied(made_rows.template(8), "j", rank, 6, 1) for rank in range(6)]
        for number, (_, rows) in enumerate(ranks):
            for row in rows["rank_step"]:
                row["allocated_end"] = 1 << 20 if number == 4 else 0
        self.put(ranks)
        self.assertEqual(self.made("--figure=allocated_end")[0]["rows"][0]["rank"], 4)

    def test_without_a_framework_it_is_driver_memory_and_without_steps_nothing(self):
        ranks = [made_rows.multiplied(made_rows.template(4), "j", rank, 4, 1) for rank in range(4)]
        for _, rows in ranks:
            rows["runs"][0]["allocated_peak"] = None
        self.put(ranks)
        self.assertEqual(self.made()[0]["figure"], "peak")
        for _, rows in ranks:
            rows["runs"][0]["job"] = "later"
            rows["runs"][0]["start_unix"] += 10**12
            rows["rank_step"] = []
        self.put([(run_name[::-1], rows) for run_name, rows in ranks])
        head, values = self.made()
        self.assertEqual((head["job"], head["columns"], len(head["rows"])), ("later", 0, 4))
        self.assertEqual(values, [[]] * 4)


class Choices(Case):
    def setUp(self):
        super().setUp()
        self.put(made_rows.some_jobs())

    def test_the_last_job_and_attempt_or_the_named_ones(self):
        head, _ = self.made()
        self.assertEqual((head["job"], head["attempt"]), ("llm-2", 0))
        jobs = [(one["job"], one["attempt"], one["day"], one["ranks"], one["steps"]) for one in head["jobs"]]
        self.assertEqual(jobs[:2], [("llm-2", 0, "2025-11-27", 16, 40), ("a/b=c d", 1, "2025-11-26", 16, 40)])
        self.assertEqual(sorted(jobs[2:]), [("a/b=c d", 0, "2025-11-26", 15, 40), ("llm-1", 0, "2025-11-26", 16, 40)])
        self.assertEqual({row["rank"] for row in head["rows"][:2]}, {3, 9})
        for arguments, wanted in ((("--job=a/b=c d",), ("a/b=c d", 1)), (("--job=a/b=c d", "--attempt=0"), ("a/b=c d", 0)),
                                  (("--until=2025-11-26",), ("a/b=c d", 1)), (("--job", "llm-1"), ("llm-1", 0))):
            head, _ = self.made(*arguments)
            self.assertEqual((head["job"], head["attempt"]), wanted)
            self.assertEqual(len(head["rows"]), 15 if wanted == ("a/b=c d", 0) else 16)

    def test_what_is_not_there_has_one_line(self):
        for arguments, words in ((("--job=x",), "no job is named x; the last one is llm-2"),
                                 (("--job=a/b=c d", "--attempt=7"), "no attempt 7, but 1, 0"),
                                 (("--since=2030-01-01",), "no process of these days")):
            status, errors = run(self.fleet, "-o", self.file, *arguments)
            self.assertEqual((status, errors.count("\n")), (1, 1))
            self.assertIn(words, errors)
            self.assertFalse(self.file.exists())
        for output in (self.fleet / names.SCHEMA / "grid", "s3://bucket/grid"):
            status, errors = run(self.fleet, "-o", output)
            self.assertEqual((status, errors.count("\n")), (1, 1), errors)
        status, errors = run(self.folder / "none", "-o", self.file)
        self.assertIn("no fleet is here", errors)
        (self.fleet / names.SCHEMA).write_text('{"version": 2}')
        status, errors = run(self.fleet, "-o", self.file)
        self.assertEqual(status, 1)
        self.assertIn("version 2", errors)

    def test_copies_count_once_and_killed_maps_not(self):
        before = self.made("--job=llm-1")
        run_name, rows = made_rows.some_jobs()[0]
        rows["runs"][0].update(job="copy", events=1)
        writer.write(storage.Local(), str(self.fleet), run_name, rows)
        half = self.fleet / "rank_step/date=2025-11-26/job=llm-1"
        shutil.copy(next(half.glob("*.parquet")), half / f"{'f' * 32}.parquet")
        after = self.made("--job=llm-1")
        self.assertEqual(after[0]["rows"], before[0]["rows"])
        self.assertNotIn("copy", [one["job"] for one in after[0]["jobs"]])

    def test_files_of_an_older_memprof_lack_columns(self):
        before = self.made("--job=llm-1")
        for path in list((self.fleet / "rank_step/date=2025-11-26/job=llm-1").glob("*.parquet"))[3:]:
            pq.write_table(pq.read_table(path, partitioning=None).drop_columns(["reserved_end"]), path)
        self.assertEqual(self.made("--job=llm-1")[0]["rows"], before[0]["rows"])
        values = self.made("--job=llm-1", "--figure=reserved_end")[1]
        self.assertEqual(sum(1 for row in values if any(value == value for value in row)), 3)

    def test_it_comes_on_the_standard_output_too(self):
        head, values = self.made("--job=llm-1")
        child = subprocess.run([sys.executable, "-m", "memprof._fleet", "grid", str(self.fleet), "--job=llm-1", "-o", "-"],
                               capture_output=True, env={**os.environ, "PYTHONPATH": str(SOURCE / "python")}, check=False)
        self.assertEqual((child.returncode, child.stderr), (0, b""))
        self.assertEqual(child.stdout, self.file.read_bytes())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
