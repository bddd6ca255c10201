"""A package of the names that the agent knows of vLLM and SGLang, without their code, and a server that uses it.

usage: serving_guest.py FOLDER vllm|sglang
"""

import importlib
import os
import sys

VLLM = '''
class BlockPool:
    def __init__(self, num_gpu_blocks):
        self.num_gpu_blocks = num_gpu_blocks
        self.free = list(range(1, num_gpu_blocks))
    def get_num_free_blocks(self):
        return len(self.free)
    def get_new_blocks(self, count):
        if count > len(self.free):
            raise ValueError("no blocks")
        taken, self.free = self.free[:count], self.free[count:]
        return taken
    def touch(self, blocks):
        self.free = [block for block in self.free if block not in blocks]
    def free_blocks(self, blocks):
        self.free += list(blocks)
'''
SCHEDULER = '''
from types import SimpleNamespace as Made
from vllm.v1.core.block_pool import BlockPool

class Scheduler:
    def __init__(self, vllm_config, kv_cache_config):
        self.vllm_config, self.kv_cache_config = vllm_config, kv_cache_config
        self.kv_cache_manager = Made(block_pool=BlockPool(kv_cache_config.num_blocks))
        self.running = []
    def schedule(self):
        return "a batch"
'''
SGLANG = '''
class TokenToKVPoolAllocator:
    page_size = 1
    def __init__(self, size, kvcache):
        self.size, self._kvcache = size, kvcache
        self.clear()
    def clear(self):
        self.left = self.size
    def get_kvcache(self):
        return self._kvcache
    def available_size(self):
        return self.left
    def alloc(self, count):
        if count > self.left:
            return None
        self.left -= count
        return count
    def free(self, count):
        self.left += count
'''
TREE = '''
class RadixCache:
    def __init__(self, allocator):
        self.token_to_kv_pool_allocator, self.kept = allocator, 0
    def evictable_size(self):
        return self.kept
'''
FILES = {"torch/__init__.py": "", "vllm/__init__.py": "", "vllm/v1/__init__.py": "", "vllm/v1/core/__init__.py": "",
         "vllm/v1/core/sched/__init__.py": "", "vllm/v1/core/block_pool.py": VLLM,
         "vllm/v1/core/sched/scheduler.py": SCHEDULER, "sglang/__init__.py": "", "sglang/srt/__init__.py": "",
         "sglang/srt/mem_cache/__init__.py": "", "sglang/srt/mem_cache/allocator/__init__.py":
         "from .token import TokenToKVPoolAllocator\n", "sglang/srt/mem_cache/allocator/token.py": SGLANG,
         "sglang/srt/mem_cache/radix_cache.py": TREE, "sglang/srt/server_args.py":
         "from types import SimpleNamespace as Made\n"
         "def get_global_server_args():\n    return Made(mem_fraction_static=0.88)\n"}


def write(folder):
    for name, text in FILES.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


def serve_vllm():
    from types import SimpleNamespace as Made
    scheduler = importlib.import_module("vllm.v1.core.sched.scheduler")
    group = Made(kv_cache_spec=Made(block_size=16))
    server = scheduler.Scheduler(Made(cache_config=Made(gpu_memory_utilization=0.9)),
                                 Made(num_blocks=101, kv_cache_tensors=[Made(size=50500), Made(size=50500)],
                                      kv_cache_groups=[group]))
    pool = server.kv_cache_manager.block_pool
    first = pool.get_new_blocks(10)
    server.running.append(Made(num_computed_tokens=100))
    assert server.schedule() == "a batch"
    pool.get_new_blocks(20)
    pool.free_blocks(first)
    pool.touch(first[:2])
    try:
        pool.get_new_blocks(1000)
    except ValueError as error:
        print("the program's own error:", error)


def serve_sglang():
    importlib.import_module("sglang.srt.server_args")
    allocators = importlib.import_module("sglang.srt.mem_cache.allocator")
    trees = importlib.import_module("sglang.srt.mem_cache.radix_cache")

    class Cache:
        @staticmethod
        def get_kv_size_bytes():
            return 30000, 20000

    allocator = allocators.TokenToKVPoolAllocator(500, Cache())
    tree = trees.RadixCache(allocator)
    allocator.alloc(100)
    tree.kept = 60
    allocator.free(10)
    assert allocator.alloc(1000) is None


if __name__ == "__main__":
    write(sys.argv[1])
    sys.path.insert(0, sys.argv[1])
    importlib.import_module("torch")
    {"vllm": serve_vllm, "sglang": serve_sglang}[sys.argv[2]]()
    print("served")
