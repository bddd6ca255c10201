"""The log and scalars of a run in offline Weights & Biases and in MLflow's files."""

import json
import os
import sys

import mlflow
import torch
import wandb

import memprof
from memprof import integrations
from memprof.integrations import mlflow as to_mlflow
from memprof.integrations import wandb as to_wandb

folder = sys.argv[1]
os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"  # mlflow-skinny has no other
mlflow.set_tracking_uri("file:" + os.path.join(folder, "ml"))
run = wandb.init(project="x", mode="offline", dir=folder)
mlflow.start_run()
with memprof.profile() as p:
    for number in range(3):
        memprof.step(number)
        torch.ones(1 << 20, device="cuda")
        to_wandb.log_scalars(step=number)
        to_mlflow.log_scalars(step=number)
integrations.hand_over(p)
found = mlflow.MlflowClient()
at = mlflow.active_run().info.run_id
print(json.dumps({"figures": integrations.figures(), "metrics": mlflow.get_run(at).data.metrics,
                  "artifacts": {f.path: f.file_size for f in found.list_artifacts(at, "memprof")},
                  "summary": {name: run.summary.get(name) for name in integrations.figures()},
                  "log": memprof.log_path(), "run": run.id}))
mlflow.end_run()
run.finish()
