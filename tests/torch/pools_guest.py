"""Memory from private pools: chosen ones, nested, on a thread, with an allocator of its own, and of captures that
share a pool. Prints PyTorch's segments with their pools: "said [[address, bytes, [first, second]], …]"."""
import ctypes
import json
import threading
import warnings

import torch

MIB = 1 << 20
warnings.simplefilter("ignore")  # captures without kernels


def take(mebibytes):
    return torch.empty(int(mebibytes * MIB), dtype=torch.uint8, device="cuda")


early = torch.cuda.MemPool()
kept = [take(30)]
first, second = torch.cuda.MemPool(), torch.cuda.MemPool()
with torch.cuda.use_mem_pool(first):
    kept.append(take(12))
    with torch.cuda.use_mem_pool(second):
        kept.append(take(14))
        thread = threading.Thread(target=lambda: kept.append(take(40)))  # from the default pool
        thread.start()
        thread.join()
    kept.append(take(16))
    kept.append(take(0.5))
with torch.cuda.use_mem_pool(early):
    kept.append(take(17))

# Two captures share a pool, of which the second uses no segment of the first.
graphs = [torch.cuda.CUDAGraph() for _ in range(5)]
with torch.cuda.graph(graphs[0]):
    kept.append(take(18))
with torch.cuda.graph(graphs[1], pool=graphs[0].pool()):
    kept.append(take(22))
with torch.cuda.graph(graphs[2], pool=torch.cuda.graph_pool_handle()):
    kept.append(take(24))
# A pool is chosen within a capture, and a capture begins within a choice: the last one counts.
with torch.cuda.graph(graphs[3], pool=first.id):
    kept.append(take(26))
    with torch.cuda.use_mem_pool(second):
        kept.append(take(28))
with torch.cuda.use_mem_pool(second):
    with torch.cuda.graph(graphs[4]):
        kept.append(take(32))
    kept.append(take(34))

# An allocator of the pool's own, here the driver's by ctypes.
driver = ctypes.CDLL("libcuda.so.1")


def allocate(size, _device, _stream):
    address = ctypes.c_uint64()
    driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(size))
    return address.value


def free(address, _size, _device, _stream):
    driver.cuMemFree_v2(ctypes.c_uint64(address))


calls = (ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p)(allocate),
         ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p)(free))
own = torch._C._cuda_customAllocator(*(ctypes.cast(call, ctypes.c_void_p).value for call in calls))
pool = torch.cuda.MemPool(own)
with torch.cuda.use_mem_pool(pool):
    kept.append(take(36))
torch.cuda.synchronize()
print("said " + json.dumps([[s["address"], s["total_size"], list(s["segment_pool_id"])]
                            for s in torch.cuda.memory_snapshot()]))
kept.clear()
del pool  # as long as its allocator can be called
