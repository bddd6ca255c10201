"""Requests that fail and are caught; the allocator keeps the memory that it reserved for them."""
import torch

MIB = 1 << 20
held = []
for mib in (100, 300, 700, 1500, 50, 20000):
    try:
        held.append(torch.empty(mib * MIB, dtype=torch.uint8, device="cuda"))
    except torch.cuda.OutOfMemoryError:
        held.append(None)
del held[0]
try:
    torch.empty(1900 * MIB, dtype=torch.uint8, device="cuda")
except torch.cuda.OutOfMemoryError:
    pass
last = torch.empty(30 * MIB, dtype=torch.uint8, device="cuda")
