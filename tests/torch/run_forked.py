"""Runs scripts one after another, each in a process forked after torch was imported: starting a Python that imports
torch takes four seconds of a core, forking one half a second. CUDA is initialised in the children only, so that
under `memprof run` each has its own log.

    python run_forked.py JOBS FOLDER

JOBS: a JSON list of {"name", "argv", "environment", "path": in front of Python's own, "ranks": 0 or how many
processes, which get the variables of torchrun}. Writes to FOLDER the output of each (NAME.out, NAME.err), its
exit status (NAME.status) and its logs (NAME.*.mprof)."""
import gc
import importlib.util
import json
import os
import socket
import sys
import types

import torch
import torch._dynamo  # noqa: F401  (the first step of an optimizer imports it)
import torch.distributed.fsdp  # noqa: F401

HERE = os.path.dirname(os.path.abspath(__file__))


def rank_variables(count):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    return [{"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(count), "LOCAL_WORLD_SIZE": str(count),
             "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "OMP_NUM_THREADS": "1"} for rank in range(count)]


def become(job, folder, variables):
    """Runs the script of a job in this process."""
    place = os.path.join(folder, job["name"])
    for number, end in ((1, ".out"), (2, ".err")):
        file = os.open(place + end, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.dup2(file, number)
        os.close(file)
    # Each job has its own stand-in GPU.
    defaults = os.environ.get("SIMCUDA_DEFAULTS", "")
    if "shared=" in defaults:
        os.environ["SIMCUDA_DEFAULTS"] = defaults + "." + job["name"]
    os.environ.update({**job["environment"], **variables, "MEMPROF_OUTPUT": place + ".%p.mprof"})
    sys.argv = job["argv"]
    sys.path[:1] = [os.path.dirname(sys.argv[0]), *job["path"]]
    if "MEMORY_HISTORY_OUTPUT" in job["environment"]:
        spec = importlib.util.spec_from_file_location("memory_history",
                                                      os.path.join(HERE, "memory_history", "sitecustomize.py"))
        history = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(history)
        history.begin(torch)
    # Its globals live until the end of Python, as in a program.
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    main.__file__ = sys.argv[0]
    with open(sys.argv[0], "rb") as file:
        exec(compile(file.read(), sys.argv[0], "exec"), main.__dict__)


def main():
    with open(sys.argv[1]) as file:
        jobs = json.load(file)
    folder = sys.argv[2]
    # Objects that exist now are not collected in the children; the thresholds stay those of a program with torch.
    gc.collect()
    gc.freeze()
    for job in jobs:
        children = []
        for variables in rank_variables(job["ranks"]) if job["ranks"] else [{}]:
            sys.stdout.flush()
            child = os.fork()
            if child == 0:
                return become(job, folder, variables)  # exits as Python does
            children.append(child)
        statuses = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        with open(os.path.join(folder, job["name"] + ".status"), "w") as file:
            json.dump(statuses, file)


if __name__ == "__main__":
    main()
