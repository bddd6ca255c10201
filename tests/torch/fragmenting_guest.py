"""Requests that fragment PyTorch's allocator: mixed and growing sizes, streams, record_stream, emptied caches, private
pools, and more than fits. Prints "said [the peak of reserved bytes, retries]".

    fragmenting_guest.py pools|plain"""
import contextlib
import json
import random
import sys
import warnings

import torch

MIB = 1 << 20
warnings.simplefilter("ignore")
rng = random.Random(5)
pools = [torch.cuda.MemPool(), torch.cuda.MemPool()] if sys.argv[1] == "pools" else []
streams = [torch.cuda.current_stream(), torch.cuda.Stream()]
live = []
for i in range(1500):
    large = i > 1100  # now memory runs short
    while live and (sum(t.numel() for t in live) > 1600 * MIB or len(live) > 60 or rng.random() < 0.45):
        live.pop(rng.randrange(len(live)))
    size = rng.choice([rng.randint(512, MIB), rng.randint(MIB, (60 if large else 20) * MIB), (i + 1) * 8192,
                       rng.randint(512, 64 * 1024) if not large else rng.randint(20 * MIB, 200 * MIB)])
    choice = contextlib.nullcontext()
    if pools and rng.random() < 0.3 and not large:
        choice = torch.cuda.use_mem_pool(rng.choice(pools))
    try:
        with torch.cuda.stream(streams[rng.random() < 0.2]), choice:
            tensor = torch.empty(size, dtype=torch.uint8, device="cuda")
    except torch.OutOfMemoryError:
        del live[::2]
        continue
    if rng.random() < 0.1:
        tensor.record_stream(streams[1])
    live.append(tensor)
    del tensor
    if pools and i == 500:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            live.extend(torch.empty(rng.randint(MIB, 20 * MIB), dtype=torch.uint8, device="cuda") for _ in range(9))
    if i % 200 == 199:
        torch.cuda.empty_cache()
    if i == 1000 and pools:
        del pools[0]
torch.cuda.synchronize()
stats = torch.cuda.memory_stats()
print("said " + json.dumps([stats["reserved_bytes.all.peak"], stats["num_alloc_retries"]]))
