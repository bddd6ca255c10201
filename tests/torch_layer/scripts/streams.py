"""Blocks of several streams, used by other streams than those that they were allocated for."""
import torch

streams = [torch.cuda.Stream() for _ in range(3)]
keep = []
for i in range(200):
    with torch.cuda.stream(streams[i % 3]):
        x = torch.empty(1 << (10 + i % 12), device="cuda")
    x.record_stream(streams[(i + 1) % 3])
    if i % 7 == 0:
        keep.append(x)
    del x
    if i % 50 == 49:
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
