"""Guest of scripts/gpu-check: training steps of a small transformer; prints the median time of a step.

usage: torch_step.py STEPS
"""
import json
import statistics
import sys
import time

import torch

torch.manual_seed(1)
layer = torch.nn.TransformerEncoderLayer(512, 8, 2048, batch_first=True, dropout=0.0)
model = torch.nn.TransformerEncoder(layer, 6, enable_nested_tensor=False).cuda()
optimizer = torch.optim.AdamW(model.parameters())
batch = torch.randn(16, 256, 512, device="cuda")
times = []
for step in range(int(sys.argv[1]) + 10):
    torch.cuda.synchronize()
    begin = time.perf_counter()
    optimizer.zero_grad(set_to_none=True)
    model(batch).square().mean().backward()
    optimizer.step()
    torch.cuda.synchronize()
    times.append(time.perf_counter() - begin)
# The first steps are warm-up.
print(json.dumps({"seconds_per_step": statistics.median(times[10:])}))
