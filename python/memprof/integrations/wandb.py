"""Weights & Biases: the log and its report as an artifact, and scalars."""

from . import careful, figures, files


def log_files(profile, run=None):
    """An artifact of the type "memprof" with the log, the report and the ten lines. `run`: default wandb.run."""
    import wandb
    run = run or wandb.run
    with careful("Weights & Biases"), files(profile) as found:
        if found:
            artifact = wandb.Artifact("memprof-" + run.id, type="memprof", description=str(profile))
            for name, path in found.items():
                artifact.add_file(path, name=name)
            run.log_artifact(artifact)


def log_scalars(run=None, step=None):
    """The figures of now."""
    import wandb
    with careful("Weights & Biases"):
        (run or wandb.run).log(figures(), step=step)
