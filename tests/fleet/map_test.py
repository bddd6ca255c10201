"""Maps made logs and asks about them with DuckDB: faults, repeats, kills, copies, jobs and days, a store of objects.

usage: map_test.py SOURCE_DIR
"""
import hashlib
import io
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from contextlib import redirect_stderr, redirect_stdout

SOURCE = pathlib.Path(sys.argv[1])
sys.path[:0] = [str(SOURCE / "python"), str(SOURCE / "tests/fleet")]
os.environ["MEMPROF_COMMAND"] = str(SOURCE / "tests/fleet/rows_command.py")

import made_rows  # noqa: E402
import object_store  # noqa: E402
from memprof._fleet import __main__ as command, catalog, names, schema, storage, upload, writer  # noqa: E402
from memprof._fleet.errors import FleetError  # noqa: E402

try:
    import duckdb  # noqa: F401
    import pyarrow.parquet as pq
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)


def run(*arguments):
    """(status, stdout, stderr) of the command."""
    out, errors = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(errors):
        status = command.main([str(argument) for argument in arguments])
    return status, out.getvalue(), errors.getvalue()


def asked(question, *arguments):
    """The rows of an answer, as dictionaries."""
    status, out, errors = run("ask", question, *arguments, "--json")
    assert status == 0, errors
    answer = json.loads(out)
    return [dict(zip([column["name"] for column in answer["columns"]], row)) for row in answer["rows"]]


def content(folder):
    """{path: sum} of the files of tables."""
    return {str(path.relative_to(folder)): hashlib.sha1(path.read_bytes()).hexdigest()
            for path in sorted(folder.glob("*/date=*/**/*")) if path.is_file()}


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.logs, self.fleet = self.folder / "logs", self.folder / "fleet"
        self.logs.mkdir()

    def write(self, name, run_and_rows, before=""):
        path = self.logs / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(before + made_rows.printed(*run_and_rows))
        return path

    def ranks(self, count, steps=12, job="j"):
        plain = made_rows.template(steps, 4)
        return [made_rows.multiplied(plain, job, rank, count, 1) for rank in range(count)]

    def map(self, *more):
        status, out, errors = run("map", self.logs, "-o", self.fleet, "--jobs=2", "--json", *more)
        self.assertEqual(status, 0, errors)
        return json.loads(out), errors


class Tables(Case):
    def test_columns_have_their_types_and_the_same_rows_the_same_bytes(self):
        run_name, rows = self.ranks(1)[0]
        for table in schema.TABLES:
            one = writer.parquet(table, run_name, rows[table] or [{}])
            self.assertEqual(one, writer.parquet(table, run_name, rows[table] or [{}]))
            read = pq.read_table(io.BytesIO(one))
            self.assertEqual(read.schema, writer.arrow_schema(table))
            for row, back in zip(rows[table], read.to_pylist()):
                self.assertEqual(back, {**dict.fromkeys(read.column_names), **row, "run": run_name})
            self.assertEqual(pq.ParquetFile(io.BytesIO(one)).metadata.row_group(0).column(0).compression, "ZSTD")

    def test_values_that_fit_no_column_are_named(self):
        for row, words in (({"peak": "x"}, "runs.peak: 'x' is no number"), ({"peak": 2**63}, "no 64-bit integer"),
                           ({"peak": float("inf")}, "runs.peak"), ({"peak": float("nan")}, "runs.peak"),
                           ({"peak": True}, "no number"), ({"host": 5}, "no text"), ({"simulated": 1}, "neither true")):
            with self.assertRaisesRegex(ValueError, words):
                writer.parquet("runs", "0" * 32, [row])
        table = pq.read_table(io.BytesIO(writer.parquet("runs", "0" * 32, [{"host": "\ud800\0x", "peak": 5.0, "new": 1}])))
        self.assertEqual((table["host"].to_pylist(), table["peak"].to_pylist()), (["?x"], [5]))


class Maps(Case):
    def test_a_second_map_does_nothing_new(self):
        for run_name, rows in self.ranks(5):
            self.write(f"{run_name}.mprof", (run_name, rows))
        (self.logs / "cut.mprof").write_text("crash")
        counts, errors = self.map()
        self.assertEqual(counts, {"fleet": str(self.fleet), "logs": 6, "mapped": 5, "unchanged": 0, "growing": 0, "failed": 1})
        self.assertEqual(errors, f"memprof fleet map: {self.logs}/cut.mprof: memprof fleet rows was ended by signal 11\n")
        before = content(self.fleet)
        calls = self.folder / "calls"
        os.environ["MEMPROF_TEST_CALLS"] = str(calls)
        self.addCleanup(os.environ.pop, "MEMPROF_TEST_CALLS")
        self.assertEqual(self.map()[0]["unchanged"], 5)
        self.assertEqual(calls.read_text(), f"{self.logs}/cut.mprof\n")
        self.assertEqual(self.map("--again")[0]["unchanged"], 5)
        self.assertEqual(content(self.fleet), before)
        self.assertEqual(asked("health", self.fleet)[0]["log"], f"{self.logs}/cut.mprof")
        # Once it can be read, it is no failure any more.
        self.write("cut.mprof", self.ranks(6)[5])
        self.assertEqual(self.map()[0]["failed"], 0)
        self.assertNotIn("log could not be read", [row["what"] for row in asked("health", self.fleet)])

    def test_nothing_of_a_killed_map_is_read(self):
        whole = self.ranks(4)
        for number, one in enumerate(whole):
            self.write(f"{number}.mprof", one, "slow 30\n" if number == 3 else "")
        environment = {**os.environ, "PYTHONPATH": str(SOURCE / "python")}
        child = subprocess.Popen([sys.executable, "-B", "-m", "memprof._fleet", "map", self.logs, "-o", self.fleet, "--jobs=2"],
                                 env=environment, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 30
        while len(list(self.fleet.glob("_mapped/*"))) < 3 and time.monotonic() < deadline:
            time.sleep(0.05)
        child.send_signal(signal.SIGKILL)
        child.wait()
        # As if it had been killed within one log, and within one file.
        run_name, rows = whole[3]
        one = names.folder(str(self.fleet), "rank_step", names.date(rows["runs"][0]["start_unix"]), "j")
        storage.Local().write(f"{one}/{run_name}.parquet", writer.parquet("rank_step", run_name, rows["rank_step"]))
        pathlib.Path(one, ".x.parquet.0.part").write_bytes(b"PAR1")
        self.assertEqual(asked("steps", self.fleet)[0]["ranks"], 3)
        self.write("3.mprof", whole[3])
        self.assertEqual(self.map()[0]["mapped"], 1)
        self.assertEqual(asked("steps", self.fleet)[0]["ranks"], 4)

    def test_a_growing_log_is_mapped_again(self):
        run_name, rows = self.ranks(1, 10)[0]
        made_rows.oom(rows)
        path = self.write("a.mprof", (run_name, rows), "grow\n")
        counts, errors = self.map()
        self.assertEqual((counts["growing"], counts["mapped"]), (1, 1))
        self.assertIn("it still grows", errors)
        self.assertEqual(len(asked("ooms", self.fleet)), 1)
        run_name, rows = self.ranks(1, 20)[0]
        path.write_text(made_rows.printed(run_name, rows))
        self.assertEqual(self.map()[0]["mapped"], 1)
        self.assertEqual(asked("steps", self.fleet)[0]["steps"], 20)
        self.assertEqual(asked("ooms", self.fleet), [])  # the table of before is gone

    def test_a_process_counts_once_and_its_fullest_log_wins(self):
        run_name, rows = self.ranks(1, 20)[0]
        short_name, short = self.ranks(1, 8)[0]
        self.assertEqual(run_name, short_name)
        self.write("whole.mprof", (run_name, rows))
        self.write("a-copy.mprof", (run_name, rows))
        short["runs"][0]["job"] = "another folder"
        self.write("b-cut.mprof", (run_name, short))
        self.map()
        short["runs"][0]["job"] = "j"
        self.write("z-cut.mprof", (run_name, short))
        self.map()
        self.assertEqual(len(list(self.fleet.glob("runs/**/*.parquet"))), 2)
        for fleets in ([self.fleet], [self.fleet, self.fleet]):
            found = asked("steps", *fleets)
            self.assertEqual([(row["job"], row["ranks"], row["steps"]) for row in found], [("j", 1, 20)])

    def test_what_cannot_be_mapped_or_written_has_one_line(self):
        (self.logs / "a.mprof").write_text("foreign")
        for arguments, words in ((["map", self.folder / "none", "-o", self.fleet], "no such file"),
                                 (["map", self.fleet.parent / "logs" / "a.mprof", "-o", self.logs / "a.mprof"], "cannot be"),
                                 (["ask", "leaks", self.folder], "no fleet is here"),
                                 (["map", self.logs, "-o", "nothing://x/y"], "nothing")):
            status, _, errors = run(*arguments)
            self.assertEqual((status, errors.count("\n")), (1, 1), errors)
            self.assertIn(words, errors)
        self.assertEqual(run("map", self.logs, "-o", self.fleet)[0], 1)  # of one log, none

    def test_another_version_is_refused_and_more_columns_are_not(self):
        one, other = self.ranks(2)
        self.write("a.mprof", one)
        self.write("b.mprof", other)
        self.map()
        for name, number in (("runs", 0), ("runs", 1), ("fragmentation", 0), ("fragmentation", 1)):
            file = sorted(self.fleet.glob(f"{name}/**/*.parquet"))[number]  # DuckDB takes the columns of the first
            kept = file.read_bytes()
            table = pq.read_table(file)
            pq.write_table(table.append_column("newer", table["run"]).drop_columns([table.column_names[4]]), file)
            self.assertEqual(asked("stages", self.fleet)[0]["ranks"], 2, (name, number))
            self.assertEqual(len(asked("fragmentation", self.fleet)), 1, (name, number))
            file.write_bytes(kept)
        (self.fleet / "_schema.json").write_text('{"version": 2}')
        for arguments in (["ask", "leaks", self.fleet], ["map", self.logs, "-o", self.fleet]):
            status, _, errors = run(*arguments)
            self.assertEqual(status, 1)
            self.assertIn("have version 2, and this memprof reads version 1", errors)


class Asks(Case):
    @classmethod
    def setUpClass(cls):
        cls.kept = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.kept, ignore_errors=True)
        made = cls.kept / "it's [1]*"  # a folder that is no pattern
        for number, (run_name, rows) in enumerate(made_rows.some_jobs()):
            rows["runs"][0]["log"] = f"/logs/{number}.mprof"
            writer.write(storage.Local(), str(made), run_name, rows)
        names.create(storage.Local(), str(made))
        cls.jobs = made

    def test_every_question_finds_what_was_put_there(self):
        answers = {name: asked(name, self.jobs, "--job=llm-1", "--job=llm-2") for name in catalog.names()}
        self.assertEqual([(row["job"], row["rank"]) for row in answers["outliers"]], [("llm-2", 5), ("llm-2", 9), ("llm-2", 3)])
        self.assertEqual(sorted((row["rank"], row["from_step"]) for row in answers["divergence"]), [(3, 13), (9, 13)])
        leak = answers["leaks"][0]
        self.assertEqual((leak["ranks"], leak["of_ranks"], leak["hosts"], leak["first_step"], leak["holder"], leak["site"]),
                         (2, 16, 2, 10, "Metrics.predictions", made_rows.KEPT))
        self.assertEqual([(row["cause"], row["failed"], row["recovered"]) for row in answers["ooms"]],
                         [("capacity", 1, 0), ("fragmentation", 1, 1)])
        self.assertEqual(answers["ooms"][0]["site"], "growth at " + made_rows.KEPT)
        self.assertEqual([(row["host"], row["others"]) for row in answers["foreign"]], [("host-00001", 3 << 30)])
        self.assertEqual([(row["what"][:10], row["ranks"]) for row in answers["settings"]], [("expandable", 8), ("other sett", 1)])
        self.assertEqual(answers["regressions"][0]["name"], made_rows.SITES[2])
        self.assertAlmostEqual(max(row["most_growth"] for row in answers["steps"]), 200 << 20)
        self.assertEqual(len(answers["stages"]), 4)
        self.assertEqual(sum(row["gpu_hours"] for row in answers["waste"]), 32)
        self.assertEqual(answers["fragmentation"][0]["pinned_by"], made_rows.SITES[3])
        self.assertEqual(answers["advice"][0]["ranks"], 32)
        self.assertGreater(len(answers["peak"]), 20)
        self.assertEqual(answers["headroom"][0]["job"], "llm-2")
        self.assertEqual({row["what"] for row in answers["health"]}, {"logs that end cut", "logs with losses",
                                                                     "logs of costly recording"})

    def test_attempts_are_apart_and_missing_ranks_are_named(self):
        found = asked("health", self.jobs, "--job=a/b=c d")
        self.assertEqual([(row["what"], row["found"]) for row in found],
                         [("ranks without a log", 1), ("logs that end killed", 15), ("attempts", 2)])
        self.assertEqual({row["attempt"] for row in asked("stages", self.jobs, "--job=a/b=c d")}, {0, 1})

    def test_jobs_and_days_narrow_it(self):
        self.assertEqual({row["job"] for row in asked("stages", self.jobs, "--since=2025-11-28")}, set())
        self.assertEqual({row["job"] for row in asked("stages", self.jobs, "--until=2025-11-26", "--job=llm-1")}, {"llm-1"})
        self.assertEqual(asked("stages", self.jobs, "--job=none such"), [])

    def test_the_report_has_what_is_wrong_first(self):
        status, out, _ = run("report", self.jobs)
        self.assertEqual(status, 0)
        self.assertRegex(out, r"^63 processes of 3 jobs on 2 hosts with 16 devices, 2025-11-2")
        places = [out.index("\n" + title) for title in ("Out of memory", "Leaks", "Ranks apart", "Ranks that left", "Headroom",
                                                        "Health")]
        self.assertEqual(places, sorted(places))
        self.assertIn("  Next: memprof oom /logs/", out)
        answers = json.loads(run("report", self.jobs, "--json")[1])
        self.assertEqual(answers["fleet"]["logs"], 63)
        self.assertEqual(answers["answers"][0]["question"], "ooms")

    def test_an_empty_fleet_has_answers_without_rows(self):
        names.create(storage.Local(), str(self.folder / "empty"))
        for name in catalog.names():
            self.assertEqual(asked(name, self.folder / "empty"), [], name)
        self.assertIn("Leaks: none\n", run("report", self.folder / "empty")[1])


class Programs(Case):
    """What questions say of programs that are not as the made one."""

    def put(self, made):
        names.create(storage.Local(), str(self.fleet))
        for name, rows in made:
            writer.write(storage.Local(), str(self.fleet), name, rows)

    def test_an_allocator_without_blocks(self):
        made = self.ranks(6, steps=24)
        made_rows.leak(made[4][1], 500 << 20, 6)
        for _, rows in made:
            for row in rows["rank_step"] + rows["runs"]:
                row.update({name: None for name in ("allocated_peak", "reserved_peak", "allocated_end", "reserved_end") if name in row})
        self.put(made)
        self.assertEqual([(row["rank"], row["from_step"] < 12) for row in asked("divergence", self.fleet)], [(4, True)])
        steps, = asked("steps", self.fleet)
        self.assertEqual((steps["rank"], steps["middle_growth"]), (4, 0))
        self.assertAlmostEqual(steps["most_growth"], 500 << 20, delta=5 << 20)

    def test_a_change_of_one_rank_is_none_of_its_job(self):
        made = []
        for day, job in enumerate(("before", "after")):
            for rank in range(16):
                own = made_rows.multiplied(made_rows.template(12, 4), job, rank, 16, 4, start=made_rows.START + day * 10**13)
                sites = {row["site"]: row for row in own[1]["rank_site_step"]}
                if rank == 3 + 9 * day:  # in another stage, which is larger
                    sites[made_rows.site(made_rows.SITES[5])].update(site=made_rows.site(made_rows.KEPT))
                if job == "after" and rank // 4 == 2:
                    for row in own[1]["rank_site_step"]:
                        row["at_peak"] *= 3 if row["site"] == made_rows.site(made_rows.SITES[1]) else 1
                if (job, rank) != ("after", 1):  # has no log
                    made.append(own)
        self.put(made)
        self.assertEqual([row["name"] for row in asked("regressions", self.fleet)], [made_rows.SITES[1]])


class Objects(Case):
    """A store as S3's, by moto."""

    def test_map_and_ask_over_s3(self):
        s3 = object_store.bucket(self)
        for number, (run_name, rows) in enumerate(self.ranks(4)):
            if number == 2:
                made_rows.leak(rows, 100 << 20, 3)
            log = self.folder / "job" / f"{number}.mprof"
            log.parent.mkdir(exist_ok=True)
            log.write_text(made_rows.printed(run_name, rows))
            # As `memprof run --upload` does.
            self.assertEqual(upload.main(["--below", str(log.parent), "--to", "s3://bucket/logs/", "--", str(log)]), 0)
        with redirect_stderr(io.StringIO()) as said:
            self.assertEqual(upload.main(["--below", "/", "--to", "s3://no-bucket/logs", "--", str(log)]), 1)
        self.assertIn("s3://no-bucket/logs", said.getvalue())
        s3.pipe_file("bucket/logs/bad.mprof", b"?")
        for mapped, unchanged in ((4, 0), (0, 4)):
            status, out, errors = run("map", "s3://bucket/logs", "-o", "s3://bucket/fleet", "--jobs=2", "--json")
            self.assertEqual(status, 0, errors)
            counts = json.loads(out)
            self.assertEqual((counts["mapped"], counts["unchanged"], counts["failed"]), (mapped, unchanged, 1))
        for _ in range(2):
            self.assertEqual(asked("leaks", "s3://bucket/fleet")[0]["log"], "s3://bucket/logs/2.mprof")
            self.assertEqual(run("compact", "s3://bucket/fleet")[0], 0)
        self.assertEqual([len(s3.find(f"bucket/fleet/{table}")) for table in ("runs", "leaks", "_merged")], [1, 1, 0])
        self.assertEqual(asked("health", "s3://bucket/fleet", "--job=j")[0]["log"], "s3://bucket/logs/bad.mprof")
        status, _, errors = run("ask", "leaks", "s3://bucket/none")
        self.assertEqual((status, errors.count("\n")), (1, 1))
        self.assertIn("no fleet is here", errors)
        with self.assertRaises(FleetError):
            storage.logs(["s3://no-bucket/x"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
