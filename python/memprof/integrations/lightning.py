"""Lightning: `Trainer(callbacks=[MemprofCallback()])`."""

import contextlib

import memprof

from . import careful, figures, hand_over, mlflow

try:
    from lightning.pytorch.callbacks import Callback
except ImportError:
    from pytorch_lightning.callbacks import Callback


class MemprofCallback(Callback):
    """Marks steps and the phases "train" and "validation", logs scalars to the trainer's loggers, explains a failure
    for memory, and hands the log to Weights & Biases, MLflow and TensorBoard at the end."""

    def __init__(self, on_oom="report", out=None):
        self.profile = memprof.profile(on_oom=on_oom, out=out)
        self._open = self._phase = contextlib.ExitStack()

    def on_fit_start(self, trainer, pl_module):
        self._open = contextlib.ExitStack()
        self._open.enter_context(self.profile)
        self._phase = self._open.enter_context(contextlib.ExitStack())

    def on_train_batch_start(self, trainer, pl_module, batch, batch_idx):
        if batch_idx % trainer.accumulate_grad_batches == 0:
            memprof.step(trainer.global_step)
        self._phase.enter_context(memprof.phase("train"))

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        self._phase.close()
        if (batch_idx + 1) % trainer.log_every_n_steps == 0:
            for logger in trainer.loggers:
                with careful("Lightning"):
                    logger.log_metrics(figures(), step=trainer.global_step)

    def on_validation_start(self, trainer, pl_module):
        self._phase.close()
        self._phase.enter_context(memprof.phase("validation"))

    def on_validation_end(self, trainer, pl_module):
        self._phase.close()

    def on_exception(self, trainer, pl_module, exception):
        self._open.__exit__(type(exception), exception, exception.__traceback__)

    def on_fit_end(self, trainer, pl_module):
        self._open.close()
        if trainer.is_global_zero:
            for logger in trainer.loggers:
                if type(logger).__name__ == "MLFlowLogger":
                    mlflow.log_files(self.profile, logger.experiment, logger.run_id)
            hand_over(self.profile, [x.experiment for x in trainer.loggers if hasattr(x.experiment, "add_text")])
