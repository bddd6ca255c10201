"""memprof in trainers and experiment trackers: docs/trainers.md. A module imports its package only when it is used."""

import contextlib
import os
import shutil
import sys
import tempfile

import memprof


def figures():
    """Scalars for a logger, in bytes: what tensors hold now and held at most (PyTorch), and the same of the driver.
    Empty while nothing is recorded. Cheap enough for every step."""
    stats = memprof.stats()
    if stats is None:
        return {}
    found = {"memprof/driver_bytes": stats["live_bytes"], "memprof/driver_peak_bytes": stats["peak_bytes"]}
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available() and torch.cuda.is_initialized():
        found["memprof/allocated_bytes"] = torch.cuda.memory_allocated()
        found["memprof/allocated_peak_bytes"] = torch.cuda.max_memory_allocated()
    return found


@contextlib.contextmanager
def files(profile):
    """The files to keep of a run, by name: its log so far, the report as a page, and the ten lines; {} without a log.
    They are there while the `with` statement runs."""
    log = profile._log_path()
    if log is None:
        yield {}
        return
    with tempfile.TemporaryDirectory(prefix="memprof.") as folder:
        found = {name: os.path.join(folder, name) for name in (os.path.basename(log), "memprof.html", "memprof.txt")}
        # A copy: the log itself grows while a tracker uploads it.
        shutil.copyfile(log, found[os.path.basename(log)])
        for name in ("memprof.html", "memprof.txt"):
            profile._write(found[name])
        yield {name: path for name, path in found.items() if os.path.exists(path)}


def hand_over(profile, writers=()):
    """Gives the log and its report to what is active in this process: a run of Weights & Biases, a run of MLflow, and
    the given writers of TensorBoard."""
    from . import mlflow, tensorboard, wandb
    package = sys.modules.get("wandb")
    if package is not None and getattr(package, "run", None) is not None:
        wandb.log_files(profile)
    package = sys.modules.get("mlflow")
    if package is not None and package.active_run() is not None:
        mlflow.log_files(profile)
    for writer in writers:
        tensorboard.log_text(profile, writer)


@contextlib.contextmanager
def careful(what):
    """A tracker that fails must not end a training: says so, and goes on."""
    try:
        yield
    except Exception as error:  # pylint: disable=broad-except
        import logging
        logging.getLogger("memprof").warning("memprof: %s: %s: %s", what, type(error).__name__, error)
