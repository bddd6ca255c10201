"""The runs that several checks of this folder share. One test (make_runs) makes each kind in one Python
(run_forked.py) before the tests that need them, as fixtures of ctest."""
import glob
import json
import os
import shutil

from guest import HERE, MEMORY, ROOT, SCRIPTS, Guest, fail

HABITS = os.path.join(HERE, "habits")
OBSERVE = os.path.join(HERE, "observe.py")
AGENT_GUEST = os.path.join(HERE, "agent_guest.py")
# Enables the history itself; also has a buffer of a library, which an export contains.
NO_HISTORY = ("snapshot", "data_parallel")
# These are started separately: as users start programs, and because one sets an option before torch is imported.
STARTED = ("mlp", "names", "expandable")
SHARDED = ("each", "flat", "tensor")


def job(name, *argv, spec=MEMORY, path=(), ranks=0, **environment):
    return {"name": name, "argv": argv, "environment": {"SIMCUDA": spec, **environment}, "path": path,
            "ranks": ranks}


def names_in(folder):
    return sorted(name[:-3] for name in os.listdir(folder) if name.endswith(".py"))


def scripts():
    """(name, path)"""
    return [(name, os.path.join(SCRIPTS, name + ".py")) for name in names_in(SCRIPTS) if name not in STARTED]


def agent_guest(name):
    path = [os.path.join(ROOT, "python")] if name == "marked" else []
    return job("agent." + name, AGENT_GUEST, name, spec="memory=4GiB", path=path)


def sharded(how):
    return job("sharded." + how, os.path.join(HERE, "processes", "sharded.py"), how,
               spec="devices=2,memory=2GiB", ranks=2)


AGENT_SCENARIOS = ("names", "leak", "gan", "failing", "checkpointed", "compiled", "traced", "parallel", "mixed",
                   "workers", "marked")


def alone(_):
    return [*(job(name, OBSERVE, path) for name, path in scripts()),
            job("two_ranks", os.path.join(SCRIPTS, "data_parallel.py"), spec="devices=2," + MEMORY, ranks=2),
            *map(agent_guest, AGENT_SCENARIOS)]


def recorded(_):
    examples = os.path.join(ROOT, "docs", "examples")
    full = os.path.join(HERE, "until_full.py")
    return [*(job(name, os.path.join(HABITS, name + ".py")) for name in names_in(HABITS) if name != "metrics_of"),
            *(job(name, OBSERVE, os.path.join(SCRIPTS, name + ".py")) for name in ("mlp", "oom")),
            *(job(name, os.path.join(SCRIPTS, name + ".py")) for name in ("attribution", "leak_create_graph")),
            job("longer_batches", full, os.path.join(examples, "longer_batches.py"), spec="memory=768MiB"),
            job("train", full, os.path.join(examples, "train.py"))]


def agent(folder):
    def script(name, path):
        if name in NO_HISTORY:
            return job(name, OBSERVE, path)
        return job(name, path, MEMORY_HISTORY_OUTPUT=os.path.join(folder, name + ".pickle"))

    return [*(script(name, path) for name, path in scripts()),
            *(agent_guest(name) for name in AGENT_SCENARIOS if name not in STARTED), *map(sharded, SHARDED)]


def processes(_):
    def program(name, script, *words, spec=MEMORY):
        return job(name, os.path.join(HERE, "processes", script + ".py"), *words, spec=spec)

    return [program("loaders_fork", "loaders", "fork"), program("loaders_spawn", "loaders", "spawn", "persistent"),
            program("loaders_forkserver", "loaders", "forkserver"),
            program("forked", "children", "fork"), program("forked_cuda", "children", "fork", "cuda"),
            program("spawned", "children", "spawn"), program("spawned_cuda", "children", "spawn", "cuda"),
            program("shared", "shared", spec=f"{MEMORY},shared=memprof-{os.getpid()}"), *map(sharded, SHARDED)]


KINDS = {function.__name__: function for function in (alone, recorded, agent, processes)}


class Runs:
    """The runs of a kind."""

    def __init__(self, build, kind):
        self.kind = kind
        self.folder = os.path.join(os.path.abspath(build), "tests", "torch", "runs", kind)

    def make(self, start):
        """Calls `start` with the command of Python."""
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)
        jobs = os.path.join(self.folder, "jobs.json")
        with open(jobs, "w") as file:
            json.dump(KINDS[self.kind](self.folder), file)
        start(os.path.join(HERE, "run_forked.py"), jobs, self.folder)

    def read(self, name, end):
        with open(os.path.join(self.folder, name + end)) as file:
            return file.read()

    def output(self, name):
        """The output of a run, which must have ended without error."""
        if not os.path.exists(os.path.join(self.folder, name + ".status")):
            fail(f"no run {name}: ctest makes it first, by torch_runs.{self.kind}")
        output, errors = self.read(name, ".out"), self.read(name, ".err")
        if any(json.loads(self.read(name, ".status"))):
            fail(f"{name}: status {self.read(name, '.status')}\n{output}\n{errors}")
        Guest.check_agent(errors)
        return output

    def logs(self, name):
        self.output(name)
        return sorted(glob.glob(os.path.join(self.folder, name + ".*.mprof")))

    def log(self, name):
        logs = self.logs(name)
        if len(logs) != 1:
            fail(f"{name} left the logs {logs}")
        return logs[0]
