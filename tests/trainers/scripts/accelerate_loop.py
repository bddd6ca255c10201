"""A loop with Accelerate, watched, with its tracker for TensorBoard; "oom": its fifth step asks for too much."""

import json
import sys

import torch
from accelerate import Accelerator

from memprof.integrations.accelerate import watch

accelerator = Accelerator(gradient_accumulation_steps=2, log_with="tensorboard", project_dir=sys.argv[1])
accelerator.init_trackers("tb")
model = torch.nn.Linear(512, 512)
model, optimizer = accelerator.prepare(model, torch.optim.AdamW(model.parameters()))
with watch(accelerator) as p:
    for number in range(12):
        with accelerator.accumulate(model):
            if "oom" in sys.argv and number == 5:
                torch.empty(64 << 30, dtype=torch.uint8, device="cuda")
            accelerator.backward(model(torch.randn(64, 512, device="cuda")).sum())
            optimizer.step()
            optimizer.zero_grad()
        accelerator.log({"number": number}, step=number)
accelerator.end_training()
print(json.dumps({"steps": p._look()["steps"], "peak": p.peak(), "text": str(p)}))
