"""MLflow: the log and its report as artifacts in the folder "memprof" of a run, and scalars."""

from . import careful, figures, files


def log_files(profile, client=None, run_id=None):
    """The log, the report and the ten lines. Default: to the active run."""
    import mlflow
    with careful("MLflow"), files(profile) as found:
        for path in found.values():
            if client is None:
                mlflow.log_artifact(path, artifact_path="memprof")
            else:
                client.log_artifact(run_id, path, artifact_path="memprof")


def log_scalars(step=None):
    """The figures of now, to the active run."""
    import mlflow
    with careful("MLflow"):
        mlflow.log_metrics(figures(), step=step)
