"""The agent in a program that was attached to (`memprof attach`): what was there before, and then what the agent
always reports. It may be begun and ended many times in one process.
"""

import sys

from .. import _library

_hooks = None


def begin(library):
    """Called by the recorder's own thread, with the interpreter's lock."""
    _library.use(library)
    from . import before, calls, guard
    calls.bind()
    if not calls.available():
        return
    guard.off = False
    torch = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "cuda"):
        return
    try:
        before.report(torch)
        _start(torch)
    except Exception:  # pylint: disable=broad-except
        guard.failed("the report of what was there before")


def end(_library_path):
    from . import guard
    guard.off = True


def _start(torch):
    """Hooks stay once they are registered, and do nothing while nothing is recorded: to remove them could disturb a
    loop of the program over them."""
    global _hooks  # pylint: disable=global-statement
    from . import hooks, pools, streams
    if _hooks is not None:
        _hooks.forked()  # another log: names and steps are told again
    elif _may_register(torch):
        _hooks = hooks.install(torch, ended=streams.install(torch))
        pools.install(torch)
        _follow_ranges(torch)


def _may_register(torch):
    """Whether new global hooks disturb nothing: code that is compiled already would be compiled again, and hooks of
    optimizers are called in a loop that may be running."""
    from torch.optim import optimizer
    compiled = getattr(sys.modules.get("torch._dynamo.convert_frame"), "FRAME_COUNTER", 0)
    return compiled == 0 and not (optimizer._global_optimizer_pre_hooks or optimizer._global_optimizer_post_hooks)


def _follow_ranges(torch):
    """NVTX looks for a tool at its first call only: its ranges come from PyTorch's functions."""
    from . import calls, guard
    nvtx = torch.cuda.nvtx
    push, pop = nvtx.range_push, nvtx.range_pop

    def range_push(msg):
        if not guard.off:
            calls.push(str(msg).encode("utf-8", "replace"))
        return push(msg)

    def range_pop():
        if not guard.off:
            calls.pop()
        return pop()

    nvtx.range_push, nvtx.range_pop = range_push, range_pop
