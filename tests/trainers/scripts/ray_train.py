"""Ray Train with two workers that share the GPU; "oom": the worker of rank 1 asks for too much."""

import json
import sys

import ray
import torch
from ray._private.accelerators.nvidia_gpu import NvidiaGPUAcceleratorManager
from ray.train import RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer

import memprof
from memprof.integrations.ray import recorded, report

OOM = "oom" in sys.argv


def loop(config):
    model = torch.nn.Linear(512, 512).cuda()
    for number in range(4):
        memprof.step(number)
        model(torch.randn(64, 512, device="cuda")).sum().backward()
        if OOM and number == 3 and ray.train.get_context().get_world_rank() == 1:
            torch.empty(64 << 30, dtype=torch.uint8, device="cuda")
        report({"number": number})


# The stand-in's NVML has no names of GPUs.
NvidiaGPUAcceleratorManager.get_current_node_accelerator_type = staticmethod(lambda: None)
ray.init(num_cpus=2, include_dashboard=False, log_to_driver=True)
trainer = TorchTrainer(recorded(loop), train_loop_config={}, run_config=RunConfig(storage_path=sys.argv[1], name="x"),
                       scaling_config=ScalingConfig(num_workers=2, use_gpu=False,
                                                    resources_per_worker={"CPU": 1}))
print(json.dumps({"metrics": trainer.fit().metrics}))
