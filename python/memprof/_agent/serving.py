"""The KV caches of vLLM and SGLang: how many of their blocks are in use. Methods that take or return blocks are
wrapped when their module is imported; after each call the pool is asked for its numbers, and a change is recorded.

Only functions and attributes are used that all releases since 2025 have. What is missing is left out.
"""

import functools
import os
import sys
import weakref

from . import calls, guard

_MOST_POOLS = 64  # of a process; further ones are not recorded


class _Pool:
    """What is known of a pool, and what was last recorded."""

    __slots__ = ("label", "bytes", "slots", "last", "tree", "__weakref__")

    def __init__(self, name):
        self.label = name.encode()
        self.bytes = self.slots = 0
        self.last = None
        self.tree = None  # SGLang: a weak reference to the tree of prefixes

    def setting(self, name, value):
        line = "\n%s=%s" % (name, value)
        self.label += line.encode("utf-8", "replace").replace(b"\0", b"")


class Recorded:
    """Of all pools of the process."""

    def __init__(self):
        self._pools = weakref.WeakKeyDictionary()
        self._names = {}  # how many pools have a name

    def pool(self, owner, name):
        known = self._pools.get(owner)
        if known is None and sum(self._names.values()) < _MOST_POOLS:
            _start()
            number = self._names[name] = self._names.get(name, 0) + 1
            known = self._pools[owner] = _Pool(name if number == 1 else "%s %d" % (name, number))
        return known

    @staticmethod
    def say(known, blocks, used, used_slots=0):
        now = (known.label, blocks, used, used_slots)
        if now == known.last:
            return
        used = min(max(used, 0), blocks)
        if calls.pool_usage(-1, known.label, known.bytes, blocks, used, known.slots, used_slots) == 0:
            known.last = now


_recorded = Recorded()


def _start():
    """A scheduler may use no GPU itself, so that nothing began its recording."""
    path = calls.ctypes.create_string_buffer(4096)
    if os.environ.get("MEMPROF_START") != "paused" and calls.log_path(path, len(path)) == calls.NOT_RECORDING:
        calls.start()


def _after(cls, name, note):
    """note(self) after each call of the method; whatever fails in it does not concern the program."""
    method = cls.__dict__.get(name)
    if method is None:
        return

    @functools.wraps(method)
    def wrapper(self, *arguments, **keywords):
        result = method(self, *arguments, **keywords)
        if not guard.off:
            try:
                note(self)
            except Exception:  # pylint: disable=broad-except
                guard.failed("a pool of blocks")
        return result

    setattr(cls, name, wrapper)


def _wraps(module, names, methods):
    """Wraps the classes that the module defines itself: {method: note}."""
    try:
        for name in names:
            cls = getattr(module, name, None)
            if cls is not None and cls.__module__ == module.__name__:
                for method, note in methods.items():
                    _after(cls, method, note)
    except Exception:  # pylint: disable=broad-except
        guard.failed("the import of %s" % module.__name__)


# --- vLLM


def _vllm_pool(pool, running=()):
    known = _recorded.pool(pool, "vLLM KV cache")
    if known is None:
        return
    used = pool.num_gpu_blocks - pool.get_num_free_blocks() - 1  # block 0 stands for no block
    slots = sum(request.num_computed_tokens for request in running) if known.slots else 0
    if not running and known.last is not None:
        slots = known.last[3]  # known once a step
    _recorded.say(known, pool.num_gpu_blocks, used, min(slots, used * known.slots))  # prefixes are shared


def _vllm_scheduler(scheduler):
    pool = scheduler.kv_cache_manager.block_pool
    known = _recorded.pool(pool, "vLLM KV cache")
    if known is None:
        return
    config = scheduler.vllm_config.cache_config
    # Either of these two decides in place of the setting.
    if not any(getattr(config, name, None) for name in ("kv_cache_memory_bytes", "num_gpu_blocks_override")):
        known.setting("gpu_memory_utilization", config.gpu_memory_utilization)
    layout = scheduler.kv_cache_config
    sizes = [int(tensor.size) for tensor in layout.kv_cache_tensors]
    # Since 2026 all tensors are views of one allocation, and have its size.
    shared = any(hasattr(tensor, "block_stride") for tensor in layout.kv_cache_tensors)
    known.bytes = max(sizes) if shared else sum(sizes)
    if len(layout.kv_cache_groups) == 1:  # else blocks have different numbers of slots
        known.slots = int(layout.kv_cache_groups[0].kv_cache_spec.block_size)
    _vllm_pool(pool)


def _vllm_step(scheduler):
    _vllm_pool(scheduler.kv_cache_manager.block_pool, scheduler.running)


def _block_pool(module):
    _wraps(module, ("BlockPool",), dict.fromkeys(("get_new_blocks", "touch", "free_blocks"), _vllm_pool))


def _scheduler(module):
    _wraps(module, ("Scheduler",), {"__init__": _vllm_scheduler, "schedule": _vllm_step})


# --- SGLang


def _sglang_setting():
    for module, find in (("sglang.srt.runtime_context", "get_schedule"),
                         ("sglang.srt.server_args", "get_global_server_args")):
        try:
            return getattr(sys.modules[module], find)().mem_fraction_static
        except Exception:  # pylint: disable=broad-except  # another release
            continue
    return ""


def _sglang_pool(allocator):
    known = _recorded.pool(allocator, "SGLang KV cache")
    if known is None:
        return
    page = allocator.page_size
    if known.last is None:
        known.slots = page
        known.setting("mem_fraction_static", _sglang_setting())
        known.bytes = _sglang_bytes(allocator)
    tree = known.tree() if known.tree is not None else None
    kept = tree.evictable_size() if tree is not None else 0  # prefixes that no request uses
    used = max(allocator.size - allocator.available_size() - kept, 0)
    _recorded.say(known, allocator.size // page, -(-used // page))


def _sglang_bytes(allocator):
    try:
        sizes = allocator.get_kvcache().get_kv_size_bytes()
        return int(sum(sizes) if isinstance(sizes, tuple) else sizes)
    except Exception:  # pylint: disable=broad-except  # pools of other models
        return 0


def _sglang_tree(tree):
    known = _recorded.pool(tree.token_to_kv_pool_allocator, "SGLang KV cache")
    if known is not None and isinstance(tree.evictable_size(), int):
        known.tree = weakref.ref(tree)


def _allocators(module):
    methods = ("alloc", "alloc_extend", "alloc_decode", "free", "free_segment", "free_page_ids", "free_group_end", "clear")
    _wraps(module, ("TokenToKVPoolAllocator", "PagedTokenToKVPoolAllocator"), dict.fromkeys(methods, _sglang_pool))


def _tree(module):
    _wraps(module, ("RadixCache",), {"__init__": _sglang_tree})


def install(after_import):
    if None in (calls.pool_usage, calls.log_path, calls.start):
        return
    cache = "sglang.srt.mem_cache."
    after_import({
        "vllm.v1.core.block_pool": _block_pool,
        "vllm.v1.core.sched.scheduler": _scheduler,
        cache + "allocator": _allocators,
        cache + "allocator.token": _allocators,
        cache + "allocator.paged": _allocators,
        cache + "radix_cache": _tree,
    })
