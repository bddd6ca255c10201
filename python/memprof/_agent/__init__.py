"""Adds information about a PyTorch program to the log (`memprof run --torch`), by PyTorch's own hooks: which
module runs, forward and backward, where steps begin, and the names of parameters, gradients and optimizer
state; and by wrapped functions, which private pool its allocator takes memory from, and what it keeps for other
streams.

The agent must not disturb the program. It keeps no object of the program alive and changes no result. If it
fails, it reports that once, counts failures, and the program continues.
"""

from . import calls


def start(torch, after_import):
    """Called once, when torch has been imported. after_import({name: function}) calls the functions with other
    modules once these have been (inject/sitecustomize.py)."""
    if not calls.available():
        return
    from . import hooks, pools, serving, streams
    from .._holders import watch
    serving.install(after_import)
    hooks.install(torch, watch.start(torch), streams.install(torch))
    pools.install(torch)
