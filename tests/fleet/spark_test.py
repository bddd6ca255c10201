"""Spark answers every question as DuckDB does, on a cluster of two executors of which one is killed in mid-job.

usage: spark_test.py SOURCE_DIR
"""
import json
import math
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest

SOURCE = pathlib.Path(sys.argv[1])
sys.path[:0] = [str(SOURCE / "python"), str(SOURCE / "tests/fleet")]
os.environ["PYTHONPATH"] = str(SOURCE / "python")
os.environ["MEMPROF_COMMAND"] = str(SOURCE / "tests/fleet/rows_command.py")
os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")

import made_rows  # noqa: E402
import object_store  # noqa: E402
from memprof._fleet import __main__ as command, ask, catalog, engines  # noqa: E402

try:
    import duckdb  # noqa: F401
    import pyarrow  # noqa: F401
    import pyspark  # noqa: F401
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)
if not shutil.which("java"):
    print("skipped: no java")
    sys.exit(77)

CLUSTER = ["--engine=spark", "--master=local-cluster[2,1,1024]"]


def same(one, other):
    if isinstance(one, float) or isinstance(other, float):
        return None not in (one, other) and math.isclose(one, other, rel_tol=1e-9, abs_tol=0.1)
    return one == other


def executors():
    """Processes of executors below this one's, by what /proc says."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = pathlib.Path("/proc", name, "cmdline").read_bytes()
        except OSError:
            continue
        if b"CoarseGrainedExecutorBackend" in words:
            found.append(int(name))
    return found


class Spark(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.fleet = cls.folder / "a fleet [1]{2}"  # no pattern
        logs = cls.folder / "logs"
        logs.mkdir()
        made = made_rows.some_jobs()
        for number, (run, rows) in enumerate(made):
            text = ("kill-executor\n" if number == 40 else "") + made_rows.printed(run, rows)
            (logs / f"{run}.mprof").write_text(text)
        (logs / "foreign.mprof").write_text("something else")
        cls.made = len(made)
        before = set(executors())
        assert command.main(["map", str(logs), "-o", str(cls.fleet), *CLUSTER]) == 0
        cls.killed = len(list(logs.glob("*.killed")))
        deadline = time.monotonic() + 60  # for the executor that takes the place of the killed one
        while len(set(executors()) - before) < 2 and time.monotonic() < deadline:
            time.sleep(0.5)
        cls.spark = engines.open_engine(cls.options(*CLUSTER))
        cls.addClassCleanup(cls.spark.session.stop)
        cls.duckdb = engines.open_engine(cls.options())

    @classmethod
    def options(cls, *more):
        return command.parsed(["ask", "outliers", str(cls.fleet), *more])

    def test_the_map_survived_the_death_of_an_executor(self):
        self.assertEqual(self.killed, 1)
        self.assertEqual(len(list(self.fleet.glob("runs/**/*.parquet"))), self.made)
        self.assertEqual(list(self.fleet.rglob("*.part")), [])

    def test_every_question_has_the_same_answer(self):
        for name in catalog.names():
            with self.subTest(name):
                question, expected = ask.answer(self.duckdb, name)
                _, found = ask.answer(self.spark, name)
                self.assertTrue(expected, "the data has nothing to compare")
                self.assertEqual(len(found), len(expected))
                for one, other in zip(found, expected):
                    for column, a, b in zip(question.columns, one, other):
                        self.assertTrue(same(a, b), (column, one, other))

    def test_merged_files_have_the_same_answers(self):
        copy = self.folder / "merged"
        shutil.copytree(self.fleet, copy)
        self.assertEqual(command.main(["compact", str(copy)]), 0)
        merged = engines.Spark(engines.Fleet([str(copy)]), self.options(*CLUSTER))
        try:
            for name in ("peak", "outliers", "leaks"):
                question, expected = ask.answer(self.duckdb, name)
                for one, other in zip(ask.answer(merged, name)[1], expected, strict=True):
                    self.assertTrue(all(map(same, one, other)), (name, one, other))
        finally:  # views belong to the session
            type(self).spark = engines.open_engine(self.options(*CLUSTER))

    def test_parameters_reach_the_query(self):
        for settings in (["share=0.25"], ["z=25"]):
            _, expected = ask.answer(self.duckdb, "outliers", settings)
            _, found = ask.answer(self.spark, "outliers", settings)
            self.assertEqual([row[3] for row in found], [row[3] for row in expected])
            self.assertEqual([row[3] for row in expected], [5])

    def test_a_query_goes_on_without_an_executor(self):
        expected = [row[:4] for row in ask.answer(self.duckdb, "divergence")[1]]
        mine = [pid for pid in executors() if self._of_this_process(pid)]
        os.kill(mine[0], 9)
        self.assertEqual([row[:4] for row in ask.answer(self.spark, "divergence")[1]], expected)

    def test_a_store_that_hadoop_cannot_read(self):
        try:
            import pandas  # noqa: F401
        except ImportError as error:
            self.skipTest(str(error))
        s3 = object_store.bucket(self)
        for path in filter(pathlib.Path.is_file, self.fleet.rglob("*")):
            s3.put_file(str(path), f"bucket/fleet/{path.relative_to(self.fleet)}")
        command_ = [sys.executable, "-m", "memprof._fleet", "ask", "--json", "--engine=spark", "--master=local[2]"]
        for name in ("leaks", "divergence", "health"):  # each in a session of its own, which knows the address
            done = subprocess.run([*command_[:4], name, "s3://bucket/fleet", *command_[4:]], capture_output=True, check=True)
            question, expected = ask.answer(self.duckdb, name)
            found = json.loads(done.stdout)["rows"]
            self.assertEqual(len(found), len(expected))
            for one, other in zip(found, expected):
                for a, b in zip(one, other):
                    self.assertTrue(same(a, b), (name, one, other))

    @staticmethod
    def _of_this_process(pid):
        while pid > 1:
            if pid == os.getpid():
                return True
            try:
                pid = int(pathlib.Path("/proc", str(pid), "stat").read_text().rsplit(")", 1)[1].split()[1])
            except OSError:
                return False
        return False


@unittest.skipUnless("MEMPROF_FLEET" in os.environ, "MEMPROF_FLEET names no large fleet")
class Large(unittest.TestCase):
    """A fleet that is there (of benchmarks/fleet): an executor dies a few seconds after each question began."""

    def test_every_question_has_the_same_answer_though_an_executor_dies(self):
        options = command.parsed(["ask", "outliers", os.environ["MEMPROF_FLEET"], "--memory=600MB"])
        expected = {name: ask.answer(engines.open_engine(options), name)[1] for name in catalog.names()}
        options.engine, options.master = "spark", CLUSTER[1].split("=", 1)[1]
        spark = engines.open_engine(options)
        self.addCleanup(spark.session.stop)
        for name in catalog.names():
            dead = []

            def kill():
                mine = [pid for pid in executors() if Spark._of_this_process(pid)]
                dead.extend(mine[:1])
                os.kill(mine[0], 9)

            timer, began = threading.Timer(3, kill), time.monotonic()
            timer.start()
            question, found = ask.answer(spark, name)
            seconds = time.monotonic() - began
            timer.cancel()
            print(f"{name}: {seconds:.0f} s, {len(found)} rows, {'killed ' + str(dead[0]) if dead else 'done before'}", flush=True)
            with self.subTest(name):
                for one, other in zip(found, expected[name], strict=True):
                    self.assertTrue(all(map(same, one, other)), (one, other))
            while len([pid for pid in executors() if Spark._of_this_process(pid)]) < 2:
                time.sleep(0.5)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
