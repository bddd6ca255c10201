"""The program of benchmarks/python_cost: allocates and frees under a stack of Python frames, through
callbacks from C, so that loops with and without recording differ only by the recorder.

usage: python_pairs.py DEPTH PAIRS   prints the nanoseconds of a pair
"""
import ctypes
import sys
import time

driver = ctypes.PyDLL("libcuda.so.1")
allocate, free = driver.cuMemAlloc_v2, driver.cuMemFree_v2
allocate.argtypes = [ctypes.POINTER(ctypes.c_uint64), ctypes.c_size_t]
free.argtypes = [ctypes.c_uint64]


def begin():
    context = ctypes.c_void_p()
    assert driver.cuInit(0) == 0
    assert driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    assert driver.cuCtxSetCurrent(context) == 0


def work(pairs):
    pointer = ctypes.c_uint64()
    reference = ctypes.byref(pointer)
    best = None
    for _ in range(5):
        start = time.perf_counter_ns()
        for _ in range(pairs):
            allocate(reference, 4096)
            free(pointer)
        taken = (time.perf_counter_ns() - start) / pairs
        best = taken if best is None else min(best, taken)
    return best


def down(depth, pairs):
    return work(pairs) if depth <= 1 else down(depth - 1, pairs)


begin()
print(down(int(sys.argv[1]), int(sys.argv[2])))
