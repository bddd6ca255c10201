// Stream-ordered memory of the default pool and of created pools.
#include "calls.h"
#include "families.h"

namespace {

CUmemoryPool g_pool = nullptr;  // of the family that is in use
int g_taken = 0;

CUdeviceptr FromPool(std::size_t bytes, CUmemoryPool pool) {
  const auto allocate = PROC(cuMemAllocFromPoolAsync, "cuMemAllocFromPoolAsync", 11020);
  return TAKE(allocate, "stream-ordered", 0, bytes, bytes, pool, nullptr);
}

// The functions of programs that are compiled for per-thread default streams.
CUdeviceptr OfThread(std::size_t bytes) {
  const auto allocate = PROC_PER_THREAD(cuMemAllocAsync, "cuMemAllocAsync", 11020);
  return TAKE(allocate, "stream-ordered", 0, bytes, bytes, nullptr);
}

CUdeviceptr FromPoolOfThread(std::size_t bytes, CUmemoryPool pool, CUstream stream) {
  const auto allocate = PROC_PER_THREAD(cuMemAllocFromPoolAsync, "cuMemAllocFromPoolAsync", 11020);
  return TAKE(allocate, "stream-ordered", 0, bytes, bytes, pool, stream);
}

void FreeOfThread(CUdeviceptr memory, std::size_t bytes) {
  const auto release = PROC_PER_THREAD(cuMemFreeAsync, "cuMemFreeAsync", 11020);
  GIVE(release, "stream-ordered", 0, bytes, memory, nullptr);
}

void Trim(CUmemoryPool pool) {
  MUST(PROC(cuMemPoolTrimTo, "cuMemPoolTrimTo", 11020)(pool, 0));
  Expect("pool_trim", "stream-ordered", 0, pool, 0, "cuMemPoolTrimTo");
}

void UseDefaultPool() { CALL(cuDeviceGetDefaultMemPool, &g_pool, 0); }

// Keeps its memory until it is trimmed.
void UseOwnPool() {
  g_pool = NewPool();
  cuuint64_t threshold = ~cuuint64_t{0};
  CALL(cuMemPoolSetAttribute, g_pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold);
}

Block TakeOrdered(std::uint64_t bytes) {
  const auto allocate = PROC(cuMemAllocAsync, "cuMemAllocAsync", 11020);
  const auto block = TAKE(allocate, "stream-ordered", 0, bytes, bytes, nullptr);
  return {bytes, [=] { FreeAsync(block, bytes, "stream-ordered"); }};
}

Block TakeFromPool(std::uint64_t bytes) {
  const CUdeviceptr block = FromPool(bytes, g_pool);
  return {bytes, [=] { FreeAsync(block, bytes, "stream-ordered"); }};
}

Block TakeOfThread(std::uint64_t bytes) {
  const bool even = g_taken++ % 2 == 0;
  const CUdeviceptr block = even ? OfThread(bytes) : FromPoolOfThread(bytes, g_pool, nullptr);
  return {bytes, [=] { FreeOfThread(block, bytes); }};
}

void Settle() {
  CALL(cuCtxSynchronize);
  Trim(g_pool);
}

std::string Figures() {
  cuuint64_t reserved = 0, used = 0;
  CALL(cuMemPoolGetAttribute, g_pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &reserved);
  CALL(cuMemPoolGetAttribute, g_pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used);
  return "\"pool_reserved\":" + std::to_string(reserved) + ",\"pool_used\":" + std::to_string(used);
}

// Both variants of the default stream, a separate pool, and frees by functions of the other family.
void Ordered() {
  const auto legacy = PROC(cuMemAllocAsync, "cuMemAllocAsync", 11020);
  const auto a = TAKE(legacy, "stream-ordered", 0, 1001, 1001, nullptr);
  const CUdeviceptr b = OfThread(1002);
  CUmemoryPool pool = NewPool();
  const CUdeviceptr c = FromPool(1003, pool);
  FromPoolOfThread(1004, pool, CU_STREAM_PER_THREAD);
  FreeOfThread(a, 1001);
  Free(b, 1002, "stream-ordered");
  FreeAsync(c, 1003, "stream-ordered");
  Trim(pool);
  CUmemoryPool other = NewPool(CU_MEM_HANDLE_TYPE_NONE, true);
  const auto destroy = PROC(cuMemPoolDestroy, "cuMemPoolDestroy", 11020);
  ON("pool_destroy", destroy, "stream-ordered", 0, 0, other);
  CUdeviceptr nothing = 0;  // the recorder also samples the pools
  MUST_FAIL(CUDA_ERROR_OUT_OF_MEMORY, legacy(&nothing, std::size_t{1} << 50, nullptr));
  Expect("alloc_failed", "stream-ordered", 0, 0, std::uint64_t{1} << 50, "cuMemAllocAsync");
}

constexpr Family kFamilies[] = {
    {"stream-ordered", TakeOrdered, UseDefaultPool, Settle, Figures},
    {"per-thread-stream", TakeOfThread, UseDefaultPool, Settle, Figures},
    {"pool", TakeFromPool, UseOwnPool, Settle, Figures}};
constexpr Scenario kScenarios[] = {{"ordered", Ordered}};

}  // namespace

const Group kPools{kFamilies, kScenarios};
