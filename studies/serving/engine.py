"""A small server: vLLM's own scheduler and block pool decide which requests run and which blocks they have; weights,
KV cache, activations and CUDA graphs are tensors of PyTorch, made in functions with the names that vLLM's worker has.
The model computes nothing of use. vLLM's compiled kernels are not needed: stubs/sitecustomize.py stands in for them.

usage: engine.py [REQUESTS] [UTILIZATION]
"""

import random
import sys
from types import SimpleNamespace

import torch
from vllm.config import CacheConfig, ParallelConfig, SchedulerConfig
from vllm.sampling_params import SamplingParams
from vllm.v1.core.sched.scheduler import Scheduler
from vllm.v1.kv_cache_interface import FullAttentionSpec, KVCacheConfig, KVCacheGroupSpec, KVCacheTensor
from vllm.v1.outputs import ModelRunnerOutput
from vllm.v1.request import Request

MIB = 1 << 20
LAYERS, HIDDEN, HEADS, BLOCK = 8, 2048, 8, 16
LENGTH = 2048  # of a request, at most


class Loose(SimpleNamespace):
    """A configuration of which everything else is off."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return None


class Worker:
    def load_model(self):
        self.weights = [torch.empty(4, HIDDEN, HIDDEN, device="cuda", dtype=torch.bfloat16) for _ in range(LAYERS)]

    def profile_run(self):
        torch.cuda.reset_peak_memory_stats()
        self.execute_model(LENGTH)

    def determine_available_memory(self, utilization):
        """As vLLM's: what the setting leaves beside everything else."""
        self.profile_run()
        torch.cuda.empty_cache()
        free, total = torch.cuda.mem_get_info()
        stats = torch.cuda.memory_stats()
        transient = stats["allocated_bytes.all.peak"] - stats["allocated_bytes.all.current"]
        return int(total * utilization) - (total - free) - transient

    def initialize_kv_cache(self, config):
        self.cache = torch.zeros(config.kv_cache_tensors[0].size, dtype=torch.int8, device="cuda")

    def execute_model(self, tokens):
        hidden = torch.empty(tokens, HIDDEN, device="cuda", dtype=torch.bfloat16)
        for weight in self.weights:
            gate = torch.empty(tokens, 4 * HIDDEN, device="cuda", dtype=torch.bfloat16)
            hidden = torch.matmul(gate[:, :HIDDEN], weight[0])
        return hidden

    def capture_model(self):
        self.graphs, pool = [], torch.cuda.graph_pool_handle()
        for size in (64, 16, 4, 1):
            self.graphs.append(torch.cuda.CUDAGraph())
            with torch.cuda.graph(self.graphs[-1], pool=pool):
                self.execute_model(size)


def made_cache(available):
    spec = FullAttentionSpec(block_size=BLOCK, num_kv_heads=HEADS, head_size=128, dtype=torch.bfloat16)
    page = spec.page_size_bytes
    blocks = available // (page * LAYERS)
    names = [f"layers.{i}.attn" for i in range(LAYERS)]
    tensor = KVCacheTensor(size=blocks * page * LAYERS, layers=names, layer_stride=page * blocks, block_stride=page)
    return KVCacheConfig(num_blocks=blocks, kv_cache_tensors=[tensor], kv_cache_groups=[KVCacheGroupSpec(names, spec)])


def made_scheduler(config, utilization):
    cache = CacheConfig(block_size=BLOCK, gpu_memory_utilization=utilization, enable_prefix_caching=False)
    cache.num_gpu_blocks = config.num_blocks
    limits = SchedulerConfig(max_num_seqs=64, max_num_batched_tokens=LENGTH, max_model_len=LENGTH,
                             is_encoder_decoder=False, enable_chunked_prefill=True)
    model = Loose(max_model_len=LENGTH, is_encoder_decoder=False, runner_type="generate")
    everything = Loose(model_config=model, cache_config=cache, scheduler_config=limits, parallel_config=ParallelConfig(),
                       observability_config=Loose(), max_concurrent_batches=1, num_lookahead_tokens=0,
                       num_speculative_tokens=0, num_prefill_lookahead_tokens=0,
                       aux_output_config=Loose(), ec_manager_config=Loose(get_encoder_cache_manager_obj=lambda: None))
    registry = Loose(supports_multimodal_inputs=lambda *_: False)
    return Scheduler(everything, config, structured_output_manager=Loose(accept_tokens=lambda *_: True), block_size=BLOCK, hash_block_size=BLOCK,
                     mm_registry=registry)


def serve(worker, scheduler, requests):
    random.seed(1)
    for number in range(requests):
        length = random.randint(32, 512)
        scheduler.add_request(Request(str(number), [1] * length, SamplingParams(max_tokens=random.randint(16, 128),
                                                                                ignore_eos=True), None))
    steps = 0
    while scheduler.has_requests() and steps < 10000:
        batch = scheduler.schedule()
        worker.execute_model(max(1, batch.total_num_scheduled_tokens))
        ids = list(batch.num_scheduled_tokens)
        done = {request.request_id: request.num_computed_tokens >= request.num_tokens for request in scheduler.running}
        scheduler.update_from_output(batch, ModelRunnerOutput(
            req_ids=ids, req_id_to_index={name: i for i, name in enumerate(ids)},
            sampled_token_ids=[[7] if done.get(name) else [] for name in ids], logprobs=None,
            prompt_logprobs_dict={}, pooler_output=[]))
        steps += 1
    return steps


def main():
    requests = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    utilization = float(sys.argv[2]) if len(sys.argv) > 2 else 0.9
    worker = Worker()
    worker.load_model()
    config = made_cache(worker.determine_available_memory(utilization))
    worker.initialize_kv_cache(config)
    worker.capture_model()
    steps = serve(worker, made_scheduler(config, utilization), requests)
    print(config.num_blocks, "blocks,", steps, "steps")


if __name__ == "__main__":
    main()
