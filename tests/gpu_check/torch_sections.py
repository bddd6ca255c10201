"""The sections of scripts/gpu-check on PyTorch: unmodified scripts of tests/torch are recorded, and the logs are
compared with PyTorch's own figures. On the stand-in they run with the Python in MEMPROF_TORCH_PYTHON."""
import json
import os
import pickle
import shutil
import subprocess
import sys
import time
from pathlib import Path

import torch_verdicts
import verdicts
from machine import GuestFailed
from verdicts import SKIPPED, Section

HERE = Path(__file__).resolve().parent
TORCH = HERE.parent / "torch"
# Small scripts on one device, whose behaviour does not depend on computed values.
SCRIPTS = ("mlp", "cnn", "transformer", "accumulation", "amp", "checkpointing")
LEAK = "leak_running_loss"
# PyTorch contains its own CUDA libraries, so the toolkit's must not precede them.
OWN_LIBRARIES = {"LD_LIBRARY_PATH": os.environ.get("LD_LIBRARY_PATH", "")}


class Torch:
    """A Python with a torch and a usable GPU, and the variables with which it runs."""

    def __init__(self, python, version, environment):
        self.python, self.version, self.environment = python, version, environment


def _stand_in_environment(machine, python):
    """The variables that scripts/torch-sim would set."""
    done = subprocess.run([HERE.parent.parent / "scripts/torch-sim", "--python", python, "--environment"],
                          capture_output=True, text=True, check=False,
                          env={**os.environ, "MEMPROF_SIMCUDA_DIR": str(machine.build / "simcuda")})
    if done.returncode != 0:
        raise GuestFailed((done.stderr.strip().splitlines() or ["torch-sim failed"])[-1])
    return dict(entry.split("=", 1) for entry in done.stdout.split("\0") if entry)


def find_torch(machine):
    """None if there is no such Python."""
    if machine.stand_in:
        python = os.environ.get("MEMPROF_TORCH_PYTHON")
        candidates = [(python, _stand_in_environment(machine, python))] if python else []
    else:
        candidates = [(shutil.which(python), OWN_LIBRARIES) for python in ("python3", sys.executable)]
    for python, environment in candidates:
        if python is None:
            continue
        try:
            told = machine.run([python, "-c", "import torch; print(torch.cuda.is_available(), torch.__version__)"],
                               environment)
        except GuestFailed:
            continue
        if told.startswith("True"):
            return Torch(python, told.split()[-1], environment)
    return None


def _preloading(machine, torch):
    """PyTorch's variables, with the recorder before the libraries that the stand-in preloads."""
    before = torch.environment.get("LD_PRELOAD")
    return {**torch.environment, "LD_PRELOAD": f"{machine.recorder}:{before}"} if before else torch.environment


def _none(title, machine):
    return Section(title, SKIPPED, "MEMPROF_TORCH_PYTHON names no PyTorch for the stand-in" if machine.stand_in
                   else "there is no PyTorch with a GPU")


def in_time(machine, scripts):
    """The scripts, until the rest of the section's time may be too short for one more: a script that is stopped
    because its section has no time left would look like one that hangs."""
    began = None
    for script in scripts:
        now = time.monotonic()
        # The last one's time is the best guess: the first one also fills the file cache.
        if began is not None and machine.left_s() < 1.5 * (now - began):
            return
        began = now
        yield script


def totals(machine, options):
    title = "PyTorch's own figures"
    torch = find_torch(machine)
    if torch is None:
        return _none(title, machine)
    seen = {}
    scripts = [script for script in SCRIPTS if script != "checkpointing"]  # it resets PyTorch's figures during the run
    for script in in_time(machine, scripts):
        try:
            output, log = machine.record([torch.python, HERE / "torch_totals.py", TORCH / f"scripts/{script}.py"],
                                         _preloading(machine, torch), most_s=60)
            seen[script] = (machine.answer(output.splitlines()[-1]), machine.report(log)["devices"])
        except GuestFailed as error:
            seen[script] = (str(error), [])
    return torch_verdicts.judge_totals(title, torch.version, seen, len(scripts))


def history(machine, options):
    title = "PyTorch's memory history"
    torch = find_torch(machine)
    if torch is None:
        return _none(title, machine)
    sys.path.insert(0, str(TORCH))
    from history import compare  # pylint: disable=import-outside-toplevel
    seen = {}
    for name in in_time(machine, SCRIPTS):
        script = str(TORCH / f"scripts/{name}.py")
        theirs, ours = machine.scratch / f"{name}.theirs", machine.scratch / f"{name}.ours"
        try:
            _, log = machine.record([torch.python, script], {
                **_preloading(machine, torch), "PYTHONPATH": str(TORCH / "memory_history"),
                "MEMORY_HISTORY_SCRIPT": script, "MEMORY_HISTORY_OUTPUT": str(theirs)}, most_s=60)
            machine.ask("export", log, "--to", "pytorch", "-o", ours)
            told, exported = (pickle.loads(path.read_bytes()) for path in (theirs, ours))
            found, row = compare(told, machine.events(log), exported, script)
            seen[name] = (len(row), found)
        except (GuestFailed, OSError) as error:
            seen[name] = (0, [str(error)])
    return torch_verdicts.judge_history(title, torch.version, seen, len(SCRIPTS))


def leak(machine, options):
    title = "A leak of a PyTorch script"
    torch = find_torch(machine)
    if torch is None:
        return _none(title, machine)
    _, log = machine.record([torch.python, TORCH / f"scripts/{LEAK}.py"], _preloading(machine, torch), most_s=60)
    return torch_verdicts.judge_leak(title, json.loads(machine.ask("leaks", log, "--json")), f"{LEAK}.py")


def overhead(machine, options, judge=verdicts.judge_overhead):
    """The steps of a small transformer, alternately unrecorded and recorded."""
    from recorder_sections import rounds
    title = "Overhead on a PyTorch step"
    torch = find_torch(machine)
    if torch is None:
        return _none(title, machine)
    command = [torch.python, HERE / "torch_step.py", 60 if not machine.stand_in else 5]
    bare, recorded = [], []
    for _ in rounds(machine, options.rounds):
        output = machine.run(command, torch.environment, most_s=90)
        bare.append(machine.answer(output.splitlines()[-1])["seconds_per_step"])
        output, _ = machine.record(command, _preloading(machine, torch), most_s=90)
        recorded.append(machine.answer(output.splitlines()[-1])["seconds_per_step"])
    section = judge(title, bare, recorded, 1.0, judged=not machine.stand_in)
    section.notes.append(f"PyTorch {torch.version}; median time of a step of a small transformer, per round.")
    return section
