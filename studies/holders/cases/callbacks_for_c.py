# half: sixth
# kind: python c++
# names: kept_alive
# bytes: 16777216
"""A function that C calls back must be kept as long as C may call it, says the manual of ctypes, so each one goes into
a list; C is done with it after the sort, and the function has the features of its step (questions on ctypes callbacks
that crash, and on the list that is the usual answer). To change: a local variable is enough for a call that returns."""
import ctypes

import torch

COMPARE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
libc = ctypes.CDLL(None)
libc.qsort.restype = None
kept_alive = []


def sorted_rows(features):
    def compare(first, second):
        return (second[0] - first[0]) * features.dim()

    callback = COMPARE(compare)
    kept_alive.append(callback)
    rows = (ctypes.c_int * 8)(*range(8))
    libc.qsort(rows, ctypes.c_size_t(len(rows)), ctypes.c_size_t(ctypes.sizeof(ctypes.c_int)), callback)
    return list(rows)


def train(steps):
    model = torch.nn.Linear(64, 1024).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        output = model(torch.randn(256, 64, device="cuda"))
        rows = sorted_rows(output.detach())
        optimizer.zero_grad()
        output[rows].square().mean().backward()
        optimizer.step()


train(16)
