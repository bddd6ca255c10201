// A guest with every kind of memory that one call allocates: arrays, managed memory with advice,
// host memory, stream-ordered memory and its pools.
#include "by_name.h"

namespace {

constexpr std::size_t kPage = 2 << 20;

void Arrays() {
  UsePrimary();
  const auto destroy = PROC(cuArrayDestroy, "cuArrayDestroy", 2000);
  CUarray flat = nullptr, deep = nullptr, layered = nullptr;
  const CUDA_ARRAY_DESCRIPTOR two{300, 20, CU_AD_FORMAT_FLOAT, 2};
  MUST(PROC(cuArrayCreate_v2, "cuArrayCreate", 3020)(&flat, &two));
  Expect("alloc", "array", 0, flat, 300 * 20 * 2 * 4, "cuArrayCreate_v2");
  const CUDA_ARRAY3D_DESCRIPTOR three{100, 50, 7, CU_AD_FORMAT_HALF, 4, 0};
  MUST(SYMBOL(cuArray3DCreate_v2)(&deep, &three));
  Expect("alloc", "array", 0, deep, 100 * 50 * 7 * 4 * 2, "cuArray3DCreate_v2");
  const CUDA_ARRAY3D_DESCRIPTOR row{64, 0, 0, CU_AD_FORMAT_UNSIGNED_INT8, 1, 0};
  MUST(PROC(cuArray3DCreate_v2, "cuArray3DCreate", 3020)(&layered, &row));
  Expect("alloc", "array", 0, layered, 64, "cuArray3DCreate_v2");
  CUarray nothing = nullptr;
  const CUDA_ARRAY_DESCRIPTOR huge{1 << 24, 1 << 24, CU_AD_FORMAT_FLOAT, 4};
  MUST_FAIL(CUDA_ERROR_OUT_OF_MEMORY, SYMBOL(cuArrayCreate_v2)(&nothing, &huge));
  Expect("alloc_failed", "array", 0, 0, std::uint64_t{1} << 52, "cuArrayCreate_v2");
  Expect("free", "array", 0, deep, 100 * 50 * 7 * 4 * 2, "cuArrayDestroy");
  MUST(destroy(deep));
  Expect("free", "array", 0, flat, 300 * 20 * 2 * 4, "cuArrayDestroy");
  MUST(destroy(flat));
  AskForTooMuch();
}

void Mipmaps() {
  UsePrimary();
  CUmipmappedArray pyramid = nullptr, kept = nullptr;
  const auto create = PROC(cuMipmappedArrayCreate, "cuMipmappedArrayCreate", 5000);
  const CUDA_ARRAY3D_DESCRIPTOR base{64, 32, 0, CU_AD_FORMAT_FLOAT, 1, 0};
  constexpr std::uint64_t kBytes = (64 * 32 + 32 * 16 + 16 * 8) * 4;
  MUST(create(&pyramid, &base, 3));
  Expect("alloc", "array", 0, pyramid, kBytes, "cuMipmappedArrayCreate");
  CUarray level = nullptr;  // a view: no allocation
  MUST(PROC(cuMipmappedArrayGetLevel, "cuMipmappedArrayGetLevel", 5000)(&level, pyramid, 1));
  MUST(create(&kept, &base, 1));
  Expect("alloc", "array", 0, kept, 64 * 32 * 4, "cuMipmappedArrayCreate");
  Expect("free", "array", 0, pyramid, kBytes, "cuMipmappedArrayDestroy");
  MUST(PROC(cuMipmappedArrayDestroy, "cuMipmappedArrayDestroy", 5000)(pyramid));
  AskForTooMuch();
}

#if CUDA_VERSION >= 12020
// Managed memory, and advice by both generations of functions.
void Managed() {
  UsePrimary();
  CUdeviceptr memory = 0;
  MUST(PROC(cuMemAllocManaged, "cuMemAllocManaged", 6000)(&memory, 4 * kPage, 1));
  Expect("alloc", "managed", 0, memory, 4 * kPage, "cuMemAllocManaged");
  const auto old_advise = PROC(cuMemAdvise, "cuMemAdvise", 8000);
  MUST(old_advise(memory, kPage, CU_MEM_ADVISE_SET_READ_MOSTLY, 0));
  Expect("advise", "managed", 0, memory, kPage, "cuMemAdvise");
  const auto advise = PROC(cuMemAdvise_v2, "cuMemAdvise", 12020);
  const CUmemLocation host{CU_MEM_LOCATION_TYPE_HOST, {0}}, gpu{CU_MEM_LOCATION_TYPE_DEVICE, {0}};
  MUST(advise(memory, 2 * kPage, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, host));
  Expect("advise", "managed", -1, memory, 2 * kPage, "cuMemAdvise_v2");
  const auto old_prefetch = PROC(cuMemPrefetchAsync, "cuMemPrefetchAsync", 8000);
  MUST(old_prefetch(memory, kPage, 0, nullptr));
  Expect("prefetch", "managed", 0, memory, kPage, "cuMemPrefetchAsync");
  MUST(old_prefetch(memory, kPage, CU_DEVICE_CPU, nullptr));
  Expect("prefetch", "managed", -1, memory, kPage, "cuMemPrefetchAsync");
  const auto own = PROC_PER_THREAD(cuMemPrefetchAsync, "cuMemPrefetchAsync", 8000);
  MUST(own(memory, kPage, 0, nullptr));
  Expect("prefetch", "managed", 0, memory, kPage, "cuMemPrefetchAsync_ptsz");
  const auto prefetch = PROC(cuMemPrefetchAsync_v2, "cuMemPrefetchAsync", 12020);
  MUST(prefetch(memory, 2 * kPage, gpu, 0, nullptr));
  Expect("prefetch", "managed", 0, memory, 2 * kPage, "cuMemPrefetchAsync_v2");
  const auto own_v2 = PROC_PER_THREAD(cuMemPrefetchAsync_v2, "cuMemPrefetchAsync", 12020);
  MUST(own_v2(memory, 2 * kPage, host, 0, nullptr));
  Expect("prefetch", "managed", -1, memory, 2 * kPage, "cuMemPrefetchAsync_v2_ptsz");
  MUST(PROC(cuStreamSynchronize, "cuStreamSynchronize", 2000)(nullptr));
  CUdeviceptr other = 0;
  MUST(PROC(cuMemAllocManaged, "cuMemAllocManaged", 6000)(&other, kPage, CU_MEM_ATTACH_HOST));
  Expect("alloc", "managed", 0, other, kPage, "cuMemAllocManaged");
  Expect("free", "managed", 0, other, kPage, "cuMemFree_v2");
  MUST(PROC(cuMemFree_v2, "cuMemFree", 3020)(other));
  AskForTooMuch();
}
#else
void Managed() {}
#endif

#if CUDA_VERSION >= 13000
// Lists of ranges in one call: one event for each range.
void Batches() {
  UsePrimary();
  CUstream stream = nullptr;
  MUST(PROC(cuStreamCreate, "cuStreamCreate", 2000)(&stream, CU_STREAM_NON_BLOCKING));
  CUdeviceptr memory = 0;
  MUST(PROC(cuMemAllocManaged, "cuMemAllocManaged", 6000)(&memory, 4 * kPage, 1));
  Expect("alloc", "managed", 0, memory, 4 * kPage, "cuMemAllocManaged");
  CUdeviceptr starts[] = {memory, memory + 2 * kPage};
  std::size_t sizes[] = {kPage, 2 * kPage}, firsts[] = {0, 1};
  CUmemLocation places[] = {{CU_MEM_LOCATION_TYPE_DEVICE, {0}}, {CU_MEM_LOCATION_TYPE_HOST, {0}}};
  const auto prefetch = PROC(cuMemPrefetchBatchAsync, "cuMemPrefetchBatchAsync", 13000);
  MUST(prefetch(starts, sizes, 2, places, firsts, 2, 0, stream));
  Expect("prefetch", "managed", 0, starts[0], kPage, "cuMemPrefetchBatchAsync");
  Expect("prefetch", "managed", -1, starts[1], 2 * kPage, "cuMemPrefetchBatchAsync");
  const auto discard = PROC(cuMemDiscardBatchAsync, "cuMemDiscardBatchAsync", 13000);
  MUST(discard(starts, sizes, 2, 0, stream));
  Expect("discard", "managed", -1, starts[0], kPage, "cuMemDiscardBatchAsync");
  Expect("discard", "managed", -1, starts[1], 2 * kPage, "cuMemDiscardBatchAsync");
  const auto both =
      PROC(cuMemDiscardAndPrefetchBatchAsync, "cuMemDiscardAndPrefetchBatchAsync", 13000);
  MUST(both(starts, sizes, 1, places, firsts, 1, 0, stream));
  Expect("discard", "managed", -1, starts[0], kPage, "cuMemDiscardAndPrefetchBatchAsync");
  Expect("prefetch", "managed", 0, starts[0], kPage, "cuMemDiscardAndPrefetchBatchAsync");
  const auto own = SYMBOL_LIKE(cuMemDiscardBatchAsync, "cuMemDiscardBatchAsync_ptsz");
  MUST(own(starts, sizes, 1, 0, CU_STREAM_PER_THREAD));
  Expect("discard", "managed", -1, starts[0], kPage, "cuMemDiscardBatchAsync_ptsz");
  MUST(PROC(cuStreamSynchronize, "cuStreamSynchronize", 2000)(stream));
  AskForTooMuch();
}
#else
void Batches() {}
#endif

void Host() {
  UsePrimary();
  void *pinned = nullptr, *flagged = nullptr;
  MUST(PROC(cuMemAllocHost_v2, "cuMemAllocHost", 3020)(&pinned, 5000));
  Expect("alloc", "pinned", -1, pinned, 5000, "cuMemAllocHost_v2");
  MUST(PROC(cuMemHostAlloc, "cuMemHostAlloc", 2020)(&flagged, 6000, CU_MEMHOSTALLOC_DEVICEMAP));
  Expect("alloc", "pinned", -1, flagged, 6000, "cuMemHostAlloc");
  void* own = std::aligned_alloc(4096, 8192);
  const auto unregister = PROC(cuMemHostUnregister, "cuMemHostUnregister", 4000);
  MUST(SYMBOL_LIKE(cuMemHostRegister_v2, "cuMemHostRegister")(own, 4096, 0));
  Expect("alloc", "registered", -1, own, 4096, "cuMemHostRegister");
  Expect("free", "registered", -1, own, 4096, "cuMemHostUnregister");
  MUST(unregister(own));
  MUST(PROC(cuMemHostRegister_v2, "cuMemHostRegister", 6050)(own, 8192, 0));
  Expect("alloc", "registered", -1, own, 8192, "cuMemHostRegister_v2");
  Expect("free", "pinned", -1, pinned, 5000, "cuMemFreeHost");
  MUST(PROC(cuMemFreeHost, "cuMemFreeHost", 2000)(pinned));
  Expect("free", "registered", -1, own, 8192, "cuMemHostUnregister");
  MUST(unregister(own));
  AskForTooMuch();
  std::free(own);
}

// Both variants of the default stream, a separate pool, and frees by functions of the other family.
void Ordered() {
  UsePrimary();
  const auto legacy = PROC(cuMemAllocAsync, "cuMemAllocAsync", 11020);
  const auto own = PROC_PER_THREAD(cuMemAllocAsync, "cuMemAllocAsync", 11020);
  CUdeviceptr a = 0, b = 0, c = 0, d = 0;
  MUST(legacy(&a, 1001, nullptr));
  Expect("alloc", "stream-ordered", 0, a, 1001, "cuMemAllocAsync");
  MUST(own(&b, 1002, nullptr));
  Expect("alloc", "stream-ordered", 0, b, 1002, "cuMemAllocAsync_ptsz");
  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
  CUmemoryPool pool = nullptr;
  MUST(PROC(cuMemPoolCreate, "cuMemPoolCreate", 11020)(&pool, &properties));
  Expect("pool_create", "stream-ordered", 0, pool, 0, "cuMemPoolCreate");
  const auto from = PROC(cuMemAllocFromPoolAsync, "cuMemAllocFromPoolAsync", 11020);
  MUST(from(&c, 1003, pool, nullptr));
  Expect("alloc", "stream-ordered", 0, c, 1003, "cuMemAllocFromPoolAsync");
  const auto from_own = PROC_PER_THREAD(cuMemAllocFromPoolAsync, "cuMemAllocFromPoolAsync", 11020);
  MUST(from_own(&d, 1004, pool, CU_STREAM_PER_THREAD));
  Expect("alloc", "stream-ordered", 0, d, 1004, "cuMemAllocFromPoolAsync_ptsz");
  Expect("free", "stream-ordered", 0, a, 1001, "cuMemFreeAsync_ptsz");
  MUST(PROC_PER_THREAD(cuMemFreeAsync, "cuMemFreeAsync", 11020)(a, nullptr));
  Expect("free", "stream-ordered", 0, b, 1002, "cuMemFree_v2");
  MUST(PROC(cuMemFree_v2, "cuMemFree", 3020)(b));
  Expect("free", "stream-ordered", 0, c, 1003, "cuMemFreeAsync");
  MUST(PROC(cuMemFreeAsync, "cuMemFreeAsync", 11020)(c, nullptr));
  MUST(PROC(cuMemPoolTrimTo, "cuMemPoolTrimTo", 11020)(pool, 0));
  Expect("pool_trim", "stream-ordered", 0, pool, 0, "cuMemPoolTrimTo");
  CUmemoryPool other = nullptr;
  MUST(SYMBOL(cuMemPoolCreate)(&other, &properties));
  Expect("pool_create", "stream-ordered", 0, other, 0, "cuMemPoolCreate");
  MUST(PROC(cuMemPoolDestroy, "cuMemPoolDestroy", 11020)(other));
  Expect("pool_destroy", "stream-ordered", 0, other, 0, "cuMemPoolDestroy");
  CUdeviceptr nothing = 0;  // the recorder also samples the pools
  MUST_FAIL(CUDA_ERROR_OUT_OF_MEMORY, legacy(&nothing, std::size_t{1} << 50, nullptr));
  Expect("alloc_failed", "stream-ordered", 0, 0, std::uint64_t{1} << 50, "cuMemAllocAsync");
  AskForTooMuch();
}

constexpr Scenario kScenarios[] = {{"arrays", Arrays},   {"mipmaps", Mipmaps},
                                   {"managed", Managed}, {"batches", Batches},
                                   {"host", Host},       {"ordered", Ordered}};

}  // namespace

int main(int argc, char** argv) { return RunScenario(kScenarios, argc, argv); }
