"""Shared by the benchmarks of a step of PyTorch: the loop of torch_steps.py as a process on the stand-in GPU."""
import os
import subprocess
from pathlib import Path

import measure

HERE = Path(__file__).resolve().parent


def environment_of(build):
    return {"MEMPROF_SIMCUDA_DIR": str(build / "simcuda"), "SIMCUDA": "memory=4GiB",
            "MEMPROF_TORCH_DIR": os.environ.get("MEMPROF_TORCH_DIR", str(build / "torch"))}


def launcher_of(python):
    return [measure.ROOT / "scripts/torch-sim", *(["--python", python] if python else [])]


class Loop:
    """A training loop, which runs the steps that it is asked for."""

    def __init__(self, command, environment):
        self.process = measure.Process(command, environment, stdin=subprocess.PIPE)

    def line(self, begin):
        for line in self.process.child.stdout:
            if line.startswith(begin):
                return line
        self.process.wait()
        return measure.fail("a training loop ended early")

    def take(self, steps):
        print(steps, file=self.process.child.stdin, flush=True)
        return measure.figures(self.line("wall_us"))

    def end(self):
        self.process.child.stdin.close()
        self.process.wait()
