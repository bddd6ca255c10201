#!/usr/bin/env python3
"""What the trainers' callbacks mark and log, with classes of their names in place of theirs (tests/trainers has the real
ones).

usage: integrations_test.py SOURCE
"""
import os
import sys
import types
import unittest
import unittest.mock

sys.path.insert(0, os.path.join(os.path.abspath(sys.argv.pop(1)), "python"))
import memprof  # noqa: E402


def stub(name, **content):
    """A module, and the packages above it."""
    parts = name.split(".")
    for length in range(1, len(parts) + 1):
        sys.modules.setdefault(".".join(parts[:length]), types.ModuleType(".".join(parts[:length])))
    vars(sys.modules[name]).update(content)


class Base:
    pass


stub("lightning.pytorch.callbacks", Callback=Base)
stub("transformers", TrainerCallback=Base)
from memprof.integrations import lightning, transformers  # noqa: E402


class Integrations(unittest.TestCase):
    def setUp(self):
        self.steps = []
        for target, name, made in ((memprof, "step", self.steps.append),
                                   (lightning, "figures", lambda: {"memprof/driver_bytes": 7}),
                                   (transformers, "figures", lambda: {"memprof/driver_bytes": 7})):
            patch = unittest.mock.patch.object(target, name, made)
            patch.start()
            self.addCleanup(patch.stop)

    def test_lightning_has_a_step_for_all_batches_whose_gradients_add_up(self):
        logged = []
        logger = types.SimpleNamespace(log_metrics=lambda metrics, step: logged.append((metrics, step)))
        trainer = types.SimpleNamespace(accumulate_grad_batches=3, global_step=0, log_every_n_steps=4, loggers=[logger])
        callback = lightning.MemprofCallback()
        for batch in range(8):
            callback.on_train_batch_start(trainer, None, None, batch)
            trainer.global_step = (batch + 1) // 3
            callback.on_train_batch_end(trainer, None, None, None, batch)
        self.assertEqual(self.steps, [0, 1, 2])
        self.assertEqual(logged, [({"memprof/driver_bytes": 7}, 1), ({"memprof/driver_bytes": 7}, 2)])

    def test_transformers_has_a_step_for_each_of_its_own(self):
        callback, logs = transformers.MemprofCallback(), {"loss": 1}
        for step in (4, 5):
            callback.on_step_begin(None, types.SimpleNamespace(global_step=step), None)
        callback.on_log(None, None, None, logs=logs)
        callback.on_log(None, None, None)
        callback.on_train_end(None, types.SimpleNamespace(is_world_process_zero=True), None)
        self.assertEqual(self.steps, [4, 5])
        self.assertEqual(logs, {"loss": 1, "memprof/driver_bytes": 7})


if __name__ == "__main__":
    unittest.main()
