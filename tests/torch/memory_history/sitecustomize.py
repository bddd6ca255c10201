"""Loaded by Python at its start (PYTHONPATH): enables PyTorch's own memory history in an unmodified script,
as soon as it has imported torch, and writes the snapshot and figures when the script has ended.

MEMORY_HISTORY_SCRIPT names the script, so that other Python processes in the same environment are not affected, and
MEMORY_HISTORY_OUTPUT the pickle. The process then exits at once, so that nothing is freed that only one of
the two observers would still record."""
import atexit
import importlib.abc
import importlib.machinery
import os
import pickle
import sys
import time


class AfterTorch(importlib.abc.MetaPathFinder):
    """Calls a function when `import torch` has ended."""

    def __init__(self, function):
        self.function = function

    def find_spec(self, name, path=None, target=None):
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            self.function(module)

        spec.loader.exec_module = exec_module
        return spec


def begin(torch):
    torch.cuda.memory._record_memory_history(max_entries=1 << 20, stacks="python")
    atexit.register(end, torch, os.getpid())


def end(torch, process):
    if os.getpid() != process:
        return
    time.sleep(0.05)  # autograd's workers release their references (docs/torch-sim.md, Limits)
    told = {"snapshot": torch.cuda.memory._snapshot(), "stats": torch.cuda.memory_stats()}
    with open(os.environ["MEMORY_HISTORY_OUTPUT"], "wb") as file:
        pickle.dump(told, file)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(1 if hasattr(sys, "last_value") else 0)


if sys.orig_argv[1:2] == [os.environ.get("MEMORY_HISTORY_SCRIPT")]:
    sys.meta_path.insert(0, AfterTorch(begin))
