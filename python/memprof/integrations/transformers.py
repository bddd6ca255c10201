"""Transformers' Trainer, and those of TRL: `watch(trainer)` before `trainer.train()`."""

import memprof
from transformers import TrainerCallback

from . import figures, hand_over


class MemprofCallback(TrainerCallback):
    """Marks steps, and adds scalars to what the trainer logs."""

    def __init__(self, profile=None, callbacks=()):
        self._profile, self._callbacks = profile, callbacks

    def on_step_begin(self, args, state, control, **more):
        memprof.step(state.global_step)

    def on_log(self, args, state, control, logs=None, **more):
        if logs is not None:
            logs.update(figures())

    def on_train_end(self, args, state, control, **more):
        if self._profile is not None and state.is_world_process_zero:
            writers = [getattr(callback, "tb_writer", None) for callback in self._callbacks]
            hand_over(self._profile, [writer for writer in writers if writer is not None])


def watch(trainer, on_oom="report", out=None):
    """Adds the callback to a trainer, before those that report to trackers; explains a failure for memory in
    `trainer.train()`; names the phases "train" and "evaluate". Returns the profile of `trainer.train()`."""
    profile = memprof.profile(on_oom=on_oom, out=out)
    callbacks = trainer.callback_handler.callbacks
    callbacks.insert(0, MemprofCallback(profile, callbacks))
    train = trainer.train

    def watched(*args, **more):
        with profile:
            return train(*args, **more)

    trainer.train = watched
    memprof.phases(trainer, train="training_step", evaluate="evaluate")
    return profile
