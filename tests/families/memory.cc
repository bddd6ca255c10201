// Memory that one call allocates: linear, pitched, three-dimensional, arrays, managed memory with
// advice, host memory.
#include <cuda_runtime_api.h>

#include <algorithm>

#include "calls.h"
#include "families.h"

namespace {

constexpr std::size_t kRowBytes = 4096;  // a multiple of every pitch alignment

Block TakeLinear(std::uint64_t bytes) {
  const CUdeviceptr block = Allocate(bytes);
  return {bytes, [=] { Free(block, bytes); }};
}

Block TakePitched(std::uint64_t bytes) {
  std::size_t pitch = 0;
  const std::size_t rows = std::max<std::size_t>(1, bytes / kRowBytes);
  const auto allocate = PROC(cuMemAllocPitch_v2, "cuMemAllocPitch", 3020);
  const auto block = TAKE(allocate, "pitched", 0, pitch * rows, &pitch, kRowBytes, rows, 4);
  return {pitch * rows, [=] { Free(block, pitch * rows, "pitched"); }};
}

// A library that the runtime's users would find.
template <typename Function>
Function* OfRuntime(const char* name) {
  void* runtime = nullptr;
  for (const char* file :
       {"libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0", "libcudart.so"})
    if (runtime == nullptr) runtime = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (runtime == nullptr) throw Skipped("no shared CUDA runtime was found");
  void* const found = dlsym(runtime, name);
  if (found == nullptr) throw Skipped(std::string("the CUDA runtime lacks ") + name);
  return reinterpret_cast<Function*>(found);
}

// Only the runtime has this function.
Block TakeVolume(std::uint64_t bytes) {
  cudaPitchedPtr block{};
  const std::size_t depth = std::max<std::size_t>(1, bytes / kRowBytes / 16);
  const auto allocate = OfRuntime<decltype(cudaMalloc3D)>("cudaMalloc3D");
  const cudaError_t error = (g_line = __LINE__, allocate(&block, {kRowBytes, 16, depth}));
  if (error == cudaErrorInsufficientDriver)
    throw Skipped("the CUDA runtime that was found is newer than the driver");
  if (error != cudaSuccess)
    throw std::runtime_error("cudaMalloc3D returned " + std::to_string(error));
  const std::uint64_t asked = block.pitch * 16 * depth;
  Expect("alloc", "pitched", 0, block.ptr, asked, "cuMemAllocPitch_v2");
  return {asked, [=] {
            Expect("free", "pitched", 0, block.ptr, asked, "cuMemFree_v2");
            if (OfRuntime<decltype(cudaFree)>("cudaFree")(block.ptr) != cudaSuccess)
              throw std::runtime_error("cudaFree failed");
          }};
}

void DestroyArray(CUarray array, std::uint64_t bytes) {
  GIVE(PROC(cuArrayDestroy, "cuArrayDestroy", 2000), "array", 0, bytes, array);
}

Block TakeArray(std::uint64_t bytes) {
  const CUDA_ARRAY_DESCRIPTOR shape{kRowBytes / 16, std::max<std::size_t>(1, bytes / kRowBytes),
                                    CU_AD_FORMAT_FLOAT, 4};
  const std::uint64_t asked = shape.Width * shape.Height * 16;
  const auto create = PROC(cuArrayCreate_v2, "cuArrayCreate", 3020);
  CUarray array = TAKE(create, "array", 0, asked, &shape);
  return {asked, [=] { DestroyArray(array, asked); }};
}

void Arrays() {
  constexpr std::uint64_t kFlat = std::uint64_t{300} * 20 * 2 * 4;
  constexpr std::uint64_t kDeep = std::uint64_t{100} * 50 * 7 * 4 * 2;
  const CUDA_ARRAY_DESCRIPTOR two{300, 20, CU_AD_FORMAT_FLOAT, 2};
  const auto create = PROC(cuArrayCreate_v2, "cuArrayCreate", 3020);
  CUarray flat = TAKE(create, "array", 0, kFlat, &two);
  const CUDA_ARRAY3D_DESCRIPTOR three{100, 50, 7, CU_AD_FORMAT_HALF, 4, 0};
  CUarray deep = TAKE(SYMBOL(cuArray3DCreate_v2), "array", 0, kDeep, &three);
  const CUDA_ARRAY3D_DESCRIPTOR row{64, 0, 0, CU_AD_FORMAT_UNSIGNED_INT8, 1, 0};
  TAKE(PROC(cuArray3DCreate_v2, "cuArray3DCreate", 3020), "array", 0, 64, &row);
  CUarray nothing = nullptr;
  const CUDA_ARRAY_DESCRIPTOR huge{1 << 24, 1 << 24, CU_AD_FORMAT_FLOAT, 4};
  MUST_FAIL(CUDA_ERROR_OUT_OF_MEMORY, SYMBOL(cuArrayCreate_v2)(&nothing, &huge));
  Expect("alloc_failed", "array", 0, 0, std::uint64_t{1} << 52, "cuArrayCreate_v2");
  DestroyArray(deep, kDeep);
  DestroyArray(flat, kFlat);
}

CUmipmappedArray Pyramid(const CUDA_ARRAY3D_DESCRIPTOR& base, unsigned levels,
                         std::uint64_t bytes) {
  const auto create = PROC(cuMipmappedArrayCreate, "cuMipmappedArrayCreate", 5000);
  return TAKE(create, "array", 0, bytes, &base, levels);
}

void DestroyPyramid(CUmipmappedArray array, std::uint64_t bytes) {
  const auto destroy = PROC(cuMipmappedArrayDestroy, "cuMipmappedArrayDestroy", 5000);
  GIVE(destroy, "array", 0, bytes, array);
}

Block TakeMipmap(std::uint64_t bytes) {
  constexpr unsigned kLevels = 3;
  const CUDA_ARRAY3D_DESCRIPTOR base{
      kRowBytes / 16, std::max<std::size_t>(4, bytes / kRowBytes), 0, CU_AD_FORMAT_FLOAT, 4, 0};
  std::uint64_t sum = 0;
  for (unsigned level = 0; level < kLevels; ++level)
    sum += (base.Width >> level) * (base.Height >> level) * 16;
  CUmipmappedArray array = Pyramid(base, kLevels, sum);
  return {sum, [=] { DestroyPyramid(array, sum); }};
}

void Mipmaps() {
  const CUDA_ARRAY3D_DESCRIPTOR base{64, 32, 0, CU_AD_FORMAT_FLOAT, 1, 0};
  constexpr std::uint64_t kFirst = std::uint64_t{64} * 32 * 4,
                          kBytes = kFirst + kFirst / 4 + kFirst / 16;
  CUmipmappedArray pyramid = Pyramid(base, 3, kBytes);
  CUarray level = nullptr;  // a view: no allocation
  MUST(PROC(cuMipmappedArrayGetLevel, "cuMipmappedArrayGetLevel", 5000)(&level, pyramid, 1));
  Pyramid(base, 1, kFirst);
  DestroyPyramid(pyramid, kBytes);
}

// The device writes to it, so that its pages are on the device.
Block TakeManaged(std::uint64_t bytes) {
  const CUdeviceptr block = AllocateManaged(bytes);
  CALL(cuMemsetD8_v2, block, 1, bytes);
  return {bytes, [=] { Free(block, bytes, "managed"); }};
}

#if CUDA_VERSION >= 12020
// Managed memory, and advice by both generations of functions.
void Advice() {
  const CUdeviceptr memory = AllocateManaged(4 * kPage);
  const auto old_advise = PROC(cuMemAdvise, "cuMemAdvise", 8000);
  ON("advise", old_advise, "managed", 0, kPage, memory, kPage, CU_MEM_ADVISE_SET_READ_MOSTLY, 0);
  const auto advise = PROC(cuMemAdvise_v2, "cuMemAdvise", 12020);
  const CUmemLocation host{CU_MEM_LOCATION_TYPE_HOST, {0}}, gpu{CU_MEM_LOCATION_TYPE_DEVICE, {0}};
  MUST(advise(memory, 2 * kPage, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, host));
  Expect("advise", "managed", -1, memory, 2 * kPage, "cuMemAdvise_v2");
  const auto old_prefetch = PROC(cuMemPrefetchAsync, "cuMemPrefetchAsync", 8000);
  ON("prefetch", old_prefetch, "managed", 0, kPage, memory, kPage, 0, nullptr);
  ON("prefetch", old_prefetch, "managed", -1, kPage, memory, kPage, CU_DEVICE_CPU, nullptr);
  const auto own = PROC_PER_THREAD(cuMemPrefetchAsync, "cuMemPrefetchAsync", 8000);
  ON("prefetch", own, "managed", 0, kPage, memory, kPage, 0, nullptr);
  const auto prefetch = PROC(cuMemPrefetchAsync_v2, "cuMemPrefetchAsync", 12020);
  ON("prefetch", prefetch, "managed", 0, 2 * kPage, memory, 2 * kPage, gpu, 0, nullptr);
  const auto own_v2 = PROC_PER_THREAD(cuMemPrefetchAsync_v2, "cuMemPrefetchAsync", 12020);
  ON("prefetch", own_v2, "managed", -1, 2 * kPage, memory, 2 * kPage, host, 0, nullptr);
  MUST(PROC(cuStreamSynchronize, "cuStreamSynchronize", 2000)(nullptr));
  Free(AllocateManaged(kPage, CU_MEM_ATTACH_HOST), kPage, "managed");
}
#endif

#if CUDA_VERSION >= 13000
// Lists of ranges in one call: one event for each range.
void Batches() {
  CUstream stream = NewStream();
  const CUdeviceptr memory = AllocateManaged(4 * kPage);
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
}
#endif

void* AllocatePinned(std::size_t bytes, unsigned flags = 0) {
  return TAKE(PROC(cuMemHostAlloc, "cuMemHostAlloc", 2020), "pinned", -1, bytes, bytes, flags);
}

void FreePinned(void* memory, std::size_t bytes) {
  GIVE(PROC(cuMemFreeHost, "cuMemFreeHost", 2000), "pinned", -1, bytes, memory);
}

Block TakePinned(std::uint64_t bytes) {
  void* const block = AllocatePinned(bytes);
  return {bytes, [=] { FreePinned(block, bytes); }};
}

void Register(const Found<decltype(cuMemHostRegister_v2)>& function, void* memory,
              std::size_t bytes) {
  ON("alloc", function, "registered", -1, bytes, memory, bytes, 0);
}

void Unregister(void* memory, std::size_t bytes) {
  GIVE(PROC(cuMemHostUnregister, "cuMemHostUnregister", 4000), "registered", -1, bytes, memory);
}

Block TakeRegistered(std::uint64_t bytes) {
  void* const block = std::aligned_alloc(4096, bytes);
  if (block == nullptr) throw std::runtime_error("no host memory");
  Register(PROC(cuMemHostRegister_v2, "cuMemHostRegister", 6050), block, bytes);
  return {bytes, [=] {
            Unregister(block, bytes);
            std::free(block);
          }};
}

void Host() {
  const auto allocate = PROC(cuMemAllocHost_v2, "cuMemAllocHost", 3020);
  void* const pinned = TAKE(allocate, "pinned", -1, 5000, 5000);
  AllocatePinned(6000, CU_MEMHOSTALLOC_DEVICEMAP);
  void* const own = std::aligned_alloc(4096, 8192);
  Register(SYMBOL_LIKE(cuMemHostRegister_v2, "cuMemHostRegister"), own, 4096);
  Unregister(own, 4096);
  Register(PROC(cuMemHostRegister_v2, "cuMemHostRegister", 6050), own, 8192);
  FreePinned(pinned, 5000);
  Unregister(own, 8192);
  std::free(own);
}

constexpr Family kFamilies[] = {{"linear", TakeLinear}, {"pitched", TakePitched},
                                {"volume", TakeVolume}, {"array", TakeArray},
                                {"mipmap", TakeMipmap}, {"managed", TakeManaged},
                                {"pinned", TakePinned}, {"registered", TakeRegistered}};
constexpr Scenario kScenarios[] = {{"arrays", Arrays},
                                   {"mipmaps", Mipmaps},
#if CUDA_VERSION >= 12020
                                   {"advice", Advice},
#endif
#if CUDA_VERSION >= 13000
                                   {"batches", Batches},
#endif
                                   {"host", Host}};

}  // namespace

const Group kMemory{kFamilies, kScenarios};
