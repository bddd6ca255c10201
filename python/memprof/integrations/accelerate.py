"""Accelerate: `with watch(accelerator) as p:` around the training loop."""

import contextlib

import memprof

from . import figures, hand_over


@contextlib.contextmanager
def watch(accelerator, on_oom="report", out=None):
    """Marks a step after each step of the first optimizer, adds scalars to `accelerator.log`, explains a failure for
    memory, and hands the log to the accelerator's trackers at the end. Yields the profile."""
    from torch.optim.optimizer import register_optimizer_step_post_hook
    first, steps, log = [], [0], accelerator.log

    def stepped(optimizer, args, kwargs):
        first[:] = first or [optimizer]
        if optimizer is first[0]:
            steps[0] += 1
            memprof.step(steps[0])

    def logged(values, *args, **more):
        return log({**values, **figures()}, *args, **more)

    hook = register_optimizer_step_post_hook(stepped)
    accelerator.log = logged
    memprof.step(0)
    try:
        with memprof.profile(on_oom=on_oom, out=out) as profile:
            yield profile
        if accelerator.is_main_process:
            hand_over(profile, [t.writer for t in accelerator.trackers if hasattr(t, "writer")])
    finally:
        accelerator.log = log
        hook.remove()
