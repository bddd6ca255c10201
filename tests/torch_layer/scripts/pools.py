"""Private pools: of CUDA graphs, shared between two graphs, and one created by the program."""
import torch

x = torch.empty(1 << 20, device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = x + 1
    z = y * 2
    w = torch.empty(3 << 20, device="cuda")
    del y
graph.replay()
second = torch.cuda.CUDAGraph()
with torch.cuda.graph(second, pool=graph.pool()):
    v = x * 3
del w
graph.reset()
del graph
torch.cuda.empty_cache()
pool = torch.cuda.MemPool()
with torch.cuda.use_mem_pool(pool):
    p = torch.empty(5 << 20, device="cuda")
del p, pool
torch.cuda.empty_cache()
