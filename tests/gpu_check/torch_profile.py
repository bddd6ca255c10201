"""Guest of scripts/gpu-check: some work on the GPU under torch.profiler; prints how many CUDA events the profiler
saw."""
import json

import torch
from torch.profiler import ProfilerActivity, profile

with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
    a = torch.randn(1024, 1024, device="cuda")
    for _ in range(10):
        a = torch.relu(a @ a / 32)
    torch.cuda.synchronize()
cuda = torch.autograd.DeviceType.CUDA
print(json.dumps({"events": sum(event.device_type == cuda for event in profiler.events())}))
