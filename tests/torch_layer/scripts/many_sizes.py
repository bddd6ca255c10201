"""Tensors of all sizes are allocated and freed, and the cache is sometimes emptied."""
import random

import torch

random.seed(1)
live = []
for i in range(3000):
    if live and random.random() < 0.48:
        live.pop(random.randrange(len(live)))
    else:
        live.append(torch.empty(int(2 ** random.uniform(0, 24)), dtype=torch.uint8, device="cuda"))
    if len(live) > 150:
        del live[:75]
    if i % 500 == 499:
        torch.cuda.empty_cache()
