"""Keeps torch.compile away from a look.

While a compiled function runs, TorchDynamo sees each frame that Python begins in the thread, and tries to compile it.
A look may come at any moment, by a question or a time; compiling it would be slow at best.
"""


def _skip(frames, code):
    """Dynamo runs this code as it is."""
    if hasattr(frames, "skip_code"):  # PyTorch 2.6
        frames.skip_code(code)
    else:
        action = frames._FrameAction
        frames.set_code_exec_strategy(code, frames._FrameExecStrategy(action.SKIP, action.DEFAULT))


def shielded(torch, function):
    """The function, so called that neither it nor what it calls is compiled."""
    frames = getattr(getattr(torch._C, "_dynamo", None), "eval_frame", None)
    set_callback = getattr(frames, "set_eval_frame", None)
    if set_callback is None:
        return function

    def call(*arguments, **named):
        before = set_callback(None)  # of this thread
        try:
            return function(*arguments, **named)
        finally:
            set_callback(before)
    call._torchdynamo_disable = True  # where the program's code that calls it is compiled
    try:
        _skip(frames, call.__code__)
    except (AttributeError, TypeError):  # of another release: then this one frame is compiled
        pass
    return call
