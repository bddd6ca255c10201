"""What `memprof run --torch` adds to a PyTorch program, by PyTorch's own hooks: which module runs, forward
and backward, where steps begin, and the names of parameters, gradients and optimizer state.

The agent is a guest. It keeps nothing of the program alive, changes nothing that it computes, and where it
fails, it says so once, counts, and leaves the program alone.
"""

from . import calls


def start(torch):
    """Called once, when torch has been imported."""
    if not calls.available():
        return
    from . import hooks
    hooks.install(torch)
