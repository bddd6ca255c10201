"""Runs out of memory, reports it, continues with a smaller batch."""
import torch
from torch import nn

capacity = torch.cuda.get_device_properties(0).total_memory
model = nn.Linear(1024, 1024).cuda()
model(torch.randn(64, 1024, device="cuda")).sum().backward()
kept = []
caught = None
try:
    while True:
        kept.append(model(torch.randn(capacity // 65536, 1024, device="cuda")))
except torch.cuda.OutOfMemoryError as error:
    caught = str(error)
assert caught is not None and "CUDA out of memory" in caught, caught
assert torch.cuda.memory_stats()["num_ooms"] == 1
kept.clear()
torch.cuda.empty_cache()
model(torch.randn(64, 1024, device="cuda"))
print(caught.split(". ")[0])
