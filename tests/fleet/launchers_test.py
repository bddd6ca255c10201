"""Ranks of a job as launchers start them: names, who says what, what is left of killed ones, attempts.

usage: launchers_test.py MEMPROF LIBMEMPROF STAND_IN_FOLDER DEMO_TRAINER
"""
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

MEMPROF, RECORDER, STAND_IN, TRAINER = sys.argv[1:5]
PATTERN = "logs/%j/%r.mprof"
_VARIABLES = re.compile(r"(SLURM|OMPI|PMIX?|TORCHELASTIC|MEMPROF|RAY)_|RANK$|WORLD_SIZE$|JOB_NAME$|LD_PRELOAD$")
ENVIRONMENT = {name: value for name, value in os.environ.items() if not _VARIABLES.match(name)}
FEW = [TRAINER, "--steps=3", "--layers=1", "--dim=32", "--heads=2", "--quiet"]
MANY = [TRAINER, "--steps=1000000", *FEW[2:]]


def slurm(rank, attempt=0, tasks=3):
    """What srun sets for a task."""
    variables = {"SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0", "SLURM_PROCID": rank, "SLURM_LOCALID": rank,
                 "SLURM_NTASKS": tasks}
    if attempt:  # the first has none
        variables["SLURM_RESTART_COUNT"] = attempt
    return {name: str(value) for name, value in variables.items()}


class Launchers(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for name in ("logs", "shm"):
            (self.folder / name).mkdir()
        self.environment = {**ENVIRONMENT, "MEMPROF_SHM": str(self.folder / "shm")}

    def start(self, command, variables=()):
        task = subprocess.Popen(command, cwd=self.folder, env={**self.environment, **dict(variables)},
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True)
        self.addCleanup(self.end, task)
        return task

    @staticmethod
    def end(task):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(task.pid, signal.SIGKILL)
        task.wait()
        task.stderr.close()

    def run_tasks(self, program, attempt=0, ranks=range(3), tasks=3):
        command = [MEMPROF, "run", "--sim", "-o", PATTERN, "--", *program]
        return [self.start(command, slurm(rank, attempt, tasks)) for rank in ranks]

    def logs(self):
        return {path.relative_to(self.folder / "logs").as_posix() for path in self.folder.glob("logs/*/*")}

    def wait_for_logs(self, count):
        end = time.monotonic() + 60
        while time.monotonic() < end:
            if sum(path.stat().st_size > 0 for path in self.folder.glob("logs/*/*")) >= count:
                return
            time.sleep(0.05)
        self.fail(f"only {self.logs()} after a minute")

    def run_of(self, log):
        done = subprocess.run([MEMPROF, "fleet", "rows", f"logs/{log}"], cwd=self.folder, env=self.environment,
                              capture_output=True, text=True, check=True)
        return next(line["row"] for line in map(json.loads, done.stdout.splitlines()) if line.get("table") == "runs")

    def map_alone(self):
        """What `fleet map` does before its Python begins."""
        subprocess.run([MEMPROF, "fleet", "map", "logs/7", "-o", "tables"], cwd=self.folder, check=True,
                       env={**self.environment, "MEMPROF_PYTHON": "/bin/true"})

    def test_tasks_of_slurm_at_the_same_time(self):
        for rank, task in enumerate(self.run_tasks(FEW)):
            self.assertEqual(task.communicate(timeout=120)[1], f"memprof: recorded to logs/7/{rank}.mprof; next: "
                             f"memprof report logs/7/{rank}.mprof\n")
        (task,) = self.run_tasks(FEW, ranks=[3], tasks=1000)
        self.assertIn("/3.mprof; next: memprof fleet map logs/7 -o fleet\n", task.communicate(timeout=120)[1])

    def test_a_job_that_is_cancelled_and_queued_again(self):
        first = self.run_tasks(MANY)
        self.wait_for_logs(3)
        last = first[2].pid
        program = int(pathlib.Path(f"/proc/{last}/task/{last}/children").read_text(encoding="ascii"))
        for task, number in zip(first, (signal.SIGTERM, signal.SIGTERM, signal.SIGKILL)):
            task.send_signal(number)
        os.kill(program, signal.SIGKILL)  # Slurm kills it too, and its run cannot finish the log
        for task in first:
            task.communicate(timeout=120)
        self.assertEqual(len(list(self.folder.glob("shm/*.ring"))), 1)
        for task in self.run_tasks(FEW, attempt=1):
            self.assertEqual(task.wait(timeout=120), 0)
        self.map_alone()
        self.assertEqual(list(self.folder.glob("shm/*")), [])
        logs = self.logs()
        self.assertLessEqual({"7/0.mprof", "7/1.mprof", "7/2.mprof"}, logs)
        self.assertEqual(len(logs), 6, logs)
        runs = [self.run_of(log) for log in sorted(logs)]
        ends = sorted((run["attempt"] or 0, run["rank"], run["ended"]) for run in runs)
        self.assertEqual(ends, [(attempt, rank, end) for attempt, end in ((0, "killed"), (1, "clean"))
                                for rank in range(3)])

    def test_a_prolog_of_tasks_and_an_epilog(self):
        variables = {"LD_PRELOAD": RECORDER, "MEMPROF_OUTPUT": PATTERN, "LD_LIBRARY_PATH": STAND_IN}
        tasks = [self.start(MANY, {**slurm(rank), **variables}) for rank in range(2)]
        self.wait_for_logs(2)
        for task in tasks:
            task.kill()
            task.communicate(timeout=120)
        self.assertEqual(len(list(self.folder.glob("shm/*.ring"))), 2)
        self.map_alone()
        self.assertEqual(list(self.folder.glob("shm/*")), [])
        self.assertEqual({self.run_of(f"7/{rank}.mprof")["ended"] for rank in range(2)}, {"killed"})

    @unittest.skipUnless(shutil.which("mpirun"), "no mpirun")
    def test_mpirun(self):
        each = ["mpirun", "-n", "3", "--allow-run-as-root", "--oversubscribe"]
        run = [MEMPROF, "run", "--sim", "-o", PATTERN, "--"]
        said = self.start(each + run + FEW).communicate(timeout=120)[1]
        for rank in range(3):
            self.assertEqual(len(re.findall(rf"memprof: recorded to logs/\w+/{rank}\.mprof;", said)), 1, said)
        said = self.start(run + each + FEW).communicate(timeout=120)[1]
        self.assertRegex(said, r"memprof: recorded 3 processes, logs/(\w+)/0\.mprof to logs/\1/2\.mprof; next: ")
        jobs = {log.partition("/")[0] for log in self.logs()}
        self.assertEqual((len(jobs), len(self.logs())), (2, 6), "two jobs, because each mpirun has its own")
        run = self.run_of(min(self.logs()))
        self.assertEqual((run["job"], run["rank"], run["world_size"]), (min(jobs), 0, 3))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
