"""The allocator of SGLang, its own file without the packages around it, with tensors of PyTorch as its KV cache; to be
recorded by `memprof run --torch --sim`, for `memprof budget`. FOLDER has the unpacked wheel (pip download --no-deps
sglang==0.5.23; unzip).

usage: sglang_allocator.py FOLDER
"""

import os
import sys
import types

import torch

SIZE = 100_000


class MHATokenToKVPool:
    def __init__(self):
        self.buffers = [torch.zeros(SIZE + 1, 8, 128, dtype=torch.bfloat16, device="cuda") for _ in range(16)]

    def get_kv_size_bytes(self):
        half = sum(buffer.nbytes for buffer in self.buffers) // 2
        return half, half


def bare_packages(folder):
    """Packages of SGLang without their __init__, which import its kernels."""
    for name in ("sglang", "sglang.srt", "sglang.srt.mem_cache", "sglang.srt.mem_cache.allocator"):
        package = types.ModuleType(name)
        package.__path__ = [os.path.join(folder, *name.split("."))]
        sys.modules[name] = package
    settings = types.SimpleNamespace(mem_fraction_static=0.85)
    sys.modules["sglang.srt.server_args"] = types.SimpleNamespace(get_global_server_args=lambda: settings)


def main():
    bare_packages(sys.argv[1])
    from sglang.srt.mem_cache.allocator.token import TokenToKVPoolAllocator
    allocator = TokenToKVPoolAllocator(SIZE, torch.bfloat16, "cuda", MHATokenToKVPool(), need_sort=False)
    held = []
    for step in range(50):
        held.append(allocator.alloc(400))
        if step % 3 == 2:
            allocator.free(held.pop(0))
    print(allocator.available_size(), "of", SIZE, "left")


if __name__ == "__main__":
    main()
