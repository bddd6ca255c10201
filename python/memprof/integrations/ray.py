"""Ray Train: `TorchTrainer(recorded(train_loop), …)`, and `report` in place of `ray.train.report`."""

import functools

import memprof

from . import figures


def recorded(train_loop, on_oom="report", out=None):
    """The function for a worker, with a failure for memory explained in the worker's log. The processes of the workers
    must be recorded: start the script by `memprof run`, or give them the variables (docs/fleet-collect.md)."""
    @functools.wraps(train_loop)
    def loop(*args):
        with memprof.profile(on_oom=on_oom, out=out):
            return train_loop(*args)
    return loop


def report(metrics, **more):
    """ray.train.report with this worker's figures."""
    import ray.train
    ray.train.report({**metrics, **figures()}, **more)
