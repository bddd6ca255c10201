// Functions that differ between the cudart of CUDA 12 and of CUDA 13: built once for each, with
// SIMCUDA_RUNTIME_VERSION set. Under one name they take other parameters, or structs of another
// size, so the toolkit's prototypes cannot be included here.
#include "simcuda/runtime/state.h"

namespace runtime = memprof::simcuda::runtime;
using memprof::simcuda::runtime::Calls;
using memprof::simcuda::runtime::Record;

namespace {

// The device of a location of CUDA 12.2 and later, for the older kind of parameter.
int DeviceOf(const cudaMemLocation& location) {
  return location.type == cudaMemLocationTypeDevice ? location.id : CU_DEVICE_CPU;
}

int Prefetch(const Calls& cu, const void* pointer, size_t bytes, int device, cudaStream_t stream) {
  return cu.cuMemPrefetchAsync(reinterpret_cast<CUdeviceptr>(pointer), bytes, device, stream);
}

int Advise(const Calls& cu, const void* pointer, size_t bytes, cudaMemoryAdvise advice,
           int device) {
  return cu.cuMemAdvise(reinterpret_cast<CUdeviceptr>(pointer), bytes,
                        static_cast<CUmem_advise>(advice), device);
}

}  // namespace

extern "C" cudaError_t cudaRuntimeGetVersion(int* version) {
  if (version == nullptr) return Record(cudaErrorInvalidValue);
  *version = SIMCUDA_RUNTIME_VERSION * 1000;
  return cudaSuccess;
}

#if SIMCUDA_RUNTIME_VERSION == 12

SIMCUDA_RT_STREAM(cudaMemPrefetchAsync, _ptsz,
                  (const void* pointer, size_t bytes, int device, cudaStream_t stream),
                  (pointer, bytes, device, stream)) {
  return Prefetch(cu, pointer, bytes, device, stream);
}

extern "C" cudaError_t cudaMemPrefetchAsync_v2(const void* pointer, size_t bytes,
                                               cudaMemLocation location, unsigned /*flags*/,
                                               cudaStream_t stream) {
  return cudaMemPrefetchAsync(pointer, bytes, DeviceOf(location), stream);
}

extern "C" cudaError_t cudaMemPrefetchAsync_v2_ptsz(const void* pointer, size_t bytes,
                                                    cudaMemLocation location, unsigned /*flags*/,
                                                    cudaStream_t stream) {
  return cudaMemPrefetchAsync_ptsz(pointer, bytes, DeviceOf(location), stream);
}

SIMCUDA_RT(cudaMemAdvise, (const void* pointer, size_t bytes, cudaMemoryAdvise advice, int device),
           (pointer, bytes, advice, device)) {
  return Advise(cu, pointer, bytes, advice, device);
}

extern "C" cudaError_t cudaMemAdvise_v2(const void* pointer, size_t bytes, cudaMemoryAdvise advice,
                                        cudaMemLocation location) {
  return cudaMemAdvise(pointer, bytes, advice, DeviceOf(location));
}

extern "C" cudaError_t cudaThreadSynchronize() {
  return runtime::Enter(false, [](const Calls& cu) { return cu.cuCtxSynchronize(); });
}

extern "C" cudaError_t cudaThreadExit() { return Record(runtime::ResetDevice()); }

SIMCUDA_RT(cudaEventElapsedTime_v2, (float* milliseconds, cudaEvent_t start, cudaEvent_t end),
           (milliseconds, start, end)) {
  return cu.cuEventElapsedTime(milliseconds, start, end);
}

#else

SIMCUDA_RT_STREAM(cudaMemPrefetchAsync, _ptsz,
                  (const void* pointer, size_t bytes, cudaMemLocation location, unsigned flags,
                   cudaStream_t stream),
                  (pointer, bytes, location, flags, stream)) {
  if (flags != 0) return cudaErrorInvalidValue;
  return Prefetch(cu, pointer, bytes, DeviceOf(location), stream);
}

SIMCUDA_RT(cudaMemAdvise,
           (const void* pointer, size_t bytes, cudaMemoryAdvise advice, cudaMemLocation location),
           (pointer, bytes, advice, location)) {
  return Advise(cu, pointer, bytes, advice, DeviceOf(location));
}

#if CUDA_VERSION >= 13000
static_assert(sizeof(cudaMemLocation) == sizeof(CUmemLocation));

SIMCUDA_RT_STREAM(cudaMemPrefetchBatchAsync, _ptsz,
                  (void** pointers, size_t* sizes, size_t count, cudaMemLocation* locations,
                   size_t* starts, size_t location_count, unsigned long long flags,
                   cudaStream_t stream),
                  (pointers, sizes, count, locations, starts, location_count, flags, stream)) {
  if (cu.cuMemPrefetchBatchAsync == nullptr) return cudaErrorNotSupported;
  return cu.cuMemPrefetchBatchAsync(reinterpret_cast<CUdeviceptr*>(pointers), sizes, count,
                                    reinterpret_cast<CUmemLocation*>(locations), starts,
                                    location_count, flags, stream);
}

SIMCUDA_RT_STREAM(cudaMemDiscardBatchAsync, _ptsz,
                  (void** pointers, size_t* sizes, size_t count, unsigned long long flags,
                   cudaStream_t stream),
                  (pointers, sizes, count, flags, stream)) {
  if (cu.cuMemDiscardBatchAsync == nullptr) return cudaErrorNotSupported;
  return cu.cuMemDiscardBatchAsync(reinterpret_cast<CUdeviceptr*>(pointers), sizes, count, flags,
                                   stream);
}

SIMCUDA_RT_STREAM(cudaMemDiscardAndPrefetchBatchAsync, _ptsz,
                  (void** pointers, size_t* sizes, size_t count, cudaMemLocation* locations,
                   size_t* starts, size_t location_count, unsigned long long flags,
                   cudaStream_t stream),
                  (pointers, sizes, count, locations, starts, location_count, flags, stream)) {
  if (cu.cuMemDiscardAndPrefetchBatchAsync == nullptr) return cudaErrorNotSupported;
  return cu.cuMemDiscardAndPrefetchBatchAsync(reinterpret_cast<CUdeviceptr*>(pointers), sizes,
                                              count, reinterpret_cast<CUmemLocation*>(locations),
                                              starts, location_count, flags, stream);
}

SIMCUDA_RT(cudaMemGetDefaultMemPool,
           (cudaMemPool_t * pool, cudaMemLocation* location, cudaMemAllocationType type),
           (pool, location, type)) {
  if (cu.cuMemGetDefaultMemPool == nullptr) return cudaErrorNotSupported;
  return cu.cuMemGetDefaultMemPool(pool, reinterpret_cast<CUmemLocation*>(location),
                                   static_cast<CUmemAllocationType>(type));
}

SIMCUDA_RT(cudaMemGetMemPool,
           (cudaMemPool_t * pool, cudaMemLocation* location, cudaMemAllocationType type),
           (pool, location, type)) {
  if (cu.cuMemGetMemPool == nullptr) return cudaErrorNotSupported;
  return cu.cuMemGetMemPool(pool, reinterpret_cast<CUmemLocation*>(location),
                            static_cast<CUmemAllocationType>(type));
}

SIMCUDA_RT(cudaMemSetMemPool,
           (cudaMemLocation * location, cudaMemAllocationType type, cudaMemPool_t pool),
           (location, type, pool)) {
  if (cu.cuMemSetMemPool == nullptr) return cudaErrorNotSupported;
  return cu.cuMemSetMemPool(reinterpret_cast<CUmemLocation*>(location),
                            static_cast<CUmemAllocationType>(type), pool);
}
#endif

#endif
