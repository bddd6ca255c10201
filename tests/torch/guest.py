"""Runs commands with PyTorch on the stand-in GPU, for the checks of this folder. Ends with 77 (skipped) if no
PyTorch is set up: scripts/torch-sim --setup creates one, MEMPROF_TORCH_PYTHON names another."""
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
SCRIPTS = os.path.join(HERE, "scripts")
MEMORY = "memory=2GiB"


def fail(text):
    sys.exit(f"FAILED: {text}")


class Guest:
    def __init__(self, build):
        self.build = build
        self.python = os.environ.get("MEMPROF_TORCH_PYTHON")
        self.folder = os.environ.get("MEMPROF_TORCH_DIR", os.path.join(build, "torch"))
        if not self.python and not os.path.exists(os.path.join(self.folder, "venv")):
            print("skipped: no PyTorch is set up; scripts/torch-sim --setup makes one")
            sys.exit(77)
        os.makedirs(self.folder, exist_ok=True)

    def _on_stand_in(self, command, spec, environment):
        """The words of a command that runs `command` on the stand-in, and its environment."""
        own = {**os.environ, "SIMCUDA": spec, "MEMPROF_TORCH_DIR": self.folder,
               "MEMPROF_SIMCUDA_DIR": os.path.join(self.build, "simcuda"), **environment}
        own.pop("LD_PRELOAD", None)
        options = ["--python", self.python] if self.python else []
        return [os.path.join(ROOT, "scripts", "torch-sim"), *options, *command], own

    def run(self, *command, spec=MEMORY, **environment):
        words, own = self._on_stand_in(command, spec, environment)
        done = subprocess.run(words, capture_output=True, text=True, env=own, check=False)
        if done.returncode != 0:
            fail(f"{' '.join(command)}: status {done.returncode}\n{done.stdout}\n{done.stderr}")
        return done

    def start(self, *program, spec=MEMORY, **environment):
        """A Python program that runs; its input and output are text."""
        words, own = self._on_stand_in(("python", *program), spec, environment)
        return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=own)

    def record(self, log, *program, options=(), **environment):
        return self.run(os.path.join(self.build, "bin", "memprof"), "run", *options, "-o", log, "--",
                        "python", *program, **environment)

    def run_with_agent(self, log, *program, **environment):
        done = self.record(log, *program, options=["--torch"], **environment)
        self.check_agent(done.stderr)
        return done

    @staticmethod
    def check_agent(errors):
        if "the agent failed" in errors or "no module paths" in errors:
            fail(errors)

    def run_by_memprof(self, log, *program, sim=MEMORY):
        """The output of a program under `memprof run --sim`, without torch-sim."""
        environment = {name: value for name, value in os.environ.items()
                       if name not in ("LD_PRELOAD", "LD_LIBRARY_PATH", "SIMCUDA", "SIMCUDA_DEFAULTS")}
        environment["MEMPROF_TORCH_DIR"] = self.folder
        python = self.python or os.path.join(self.folder, "venv", "bin", "python")
        done = subprocess.run([os.path.join(self.build, "bin", "memprof"), "run", f"--sim={sim}", "-o", log, "--",
                               python, *program], capture_output=True, text=True, env=environment, check=False)
        if done.returncode != 0:
            fail(f"{' '.join(program)}: status {done.returncode}\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def begin(self, *words):
        """`memprof` in a session of its own."""
        return subprocess.Popen([os.path.join(self.build, "bin", "memprof"), *words], stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL, start_new_session=True)

    def memprof(self, *words, may_fail=False):
        done = subprocess.run([os.path.join(self.build, "bin", "memprof"), *words], capture_output=True,
                              text=True, check=False)
        if done.returncode != 0 and not may_fail:
            fail(f"memprof {' '.join(words)}: {done.stderr}")
        return done.stdout
