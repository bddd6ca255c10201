// Allocation, release and queries of memory.
#include <cuda_runtime_api.h>

#include <cstring>

#include "simcuda/runtime/state.h"

using memprof::simcuda::runtime::Address;
using memprof::simcuda::runtime::Calls;

namespace {

int AllocateHost(const Calls& cu, void** pointer, size_t bytes, unsigned flags) {
  if (pointer == nullptr) return cudaErrorInvalidValue;
  *pointer = nullptr;
  return bytes == 0 ? CUDA_SUCCESS : cu.cuMemHostAlloc(pointer, bytes, flags);
}

}  // namespace

SIMCUDA_RT(cudaMalloc, (void** pointer, size_t bytes), (pointer, bytes)) {
  if (pointer == nullptr) return cudaErrorInvalidValue;
  *pointer = nullptr;
  if (bytes == 0) return CUDA_SUCCESS;
  return cu.cuMemAlloc_v2(reinterpret_cast<CUdeviceptr*>(pointer), bytes);
}

SIMCUDA_RT(cudaFree, (void* pointer), (pointer)) {
  return cu.cuMemFree_v2(Address(pointer));
}

SIMCUDA_RT(cudaMallocPitch, (void** pointer, size_t* pitch, size_t width, size_t height),
           (pointer, pitch, width, height)) {
  if (pointer == nullptr || pitch == nullptr) return cudaErrorInvalidValue;
  *pointer = nullptr;
  *pitch = 0;
  if (width == 0 || height == 0) return CUDA_SUCCESS;
  return cu.cuMemAllocPitch_v2(reinterpret_cast<CUdeviceptr*>(pointer), pitch, width, height, 4);
}

SIMCUDA_RT(cudaMalloc3D, (cudaPitchedPtr * pitched, cudaExtent extent), (pitched, extent)) {
  if (pitched == nullptr) return cudaErrorInvalidValue;
  *pitched = {nullptr, 0, extent.width, extent.height};
  size_t rows = 0;
  if (__builtin_mul_overflow(extent.height, extent.depth, &rows)) return cudaErrorInvalidValue;
  if (extent.width == 0 || rows == 0) return CUDA_SUCCESS;
  return cu.cuMemAllocPitch_v2(reinterpret_cast<CUdeviceptr*>(&pitched->ptr), &pitched->pitch,
                               extent.width, rows, 4);
}

SIMCUDA_RT(cudaMallocManaged, (void** pointer, size_t bytes, unsigned flags),
           (pointer, bytes, flags)) {
  if (pointer == nullptr || bytes == 0) return cudaErrorInvalidValue;
  return cu.cuMemAllocManaged(reinterpret_cast<CUdeviceptr*>(pointer), bytes, flags);
}

SIMCUDA_RT(cudaMallocHost, (void** pointer, size_t bytes), (pointer, bytes)) {
  return AllocateHost(cu, pointer, bytes, 0);
}

SIMCUDA_RT(cudaHostAlloc, (void** pointer, size_t bytes, unsigned flags), (pointer, bytes, flags)) {
  return AllocateHost(cu, pointer, bytes, flags);
}

SIMCUDA_RT(cudaFreeHost, (void* pointer), (pointer)) {
  return pointer == nullptr ? CUDA_SUCCESS : cu.cuMemFreeHost(pointer);
}

SIMCUDA_RT(cudaHostRegister, (void* pointer, size_t bytes, unsigned flags),
           (pointer, bytes, flags)) {
  return cu.cuMemHostRegister_v2(pointer, bytes, flags);
}

SIMCUDA_RT(cudaHostUnregister, (void* pointer), (pointer)) {
  return cu.cuMemHostUnregister(pointer);
}

SIMCUDA_RT(cudaHostGetDevicePointer, (void** device, void* host, unsigned flags),
           (device, host, flags)) {
  return cu.cuMemHostGetDevicePointer_v2(reinterpret_cast<CUdeviceptr*>(device), host, flags);
}

SIMCUDA_RT(cudaHostGetFlags, (unsigned* flags, void* host), (flags, host)) {
  return cu.cuMemHostGetFlags(flags, host);
}

SIMCUDA_RT(cudaMemGetInfo, (size_t * free, size_t* total), (free, total)) {
  return cu.cuMemGetInfo_v2(free, total);
}

SIMCUDA_RT(cudaPointerGetAttributes, (cudaPointerAttributes * attributes, const void* pointer),
           (attributes, pointer)) {
  if (attributes == nullptr || pointer == nullptr) return cudaErrorInvalidValue;
  unsigned type = 0;
  unsigned managed = 0;
  int device = -2;
  void* device_pointer = nullptr;
  void* host_pointer = nullptr;
  CUpointer_attribute asked[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                 CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                 CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
                                 CU_POINTER_ATTRIBUTE_HOST_POINTER};
  void* answers[] = {&type, &managed, &device, &device_pointer, &host_pointer};
  const CUresult result = cu.cuPointerGetAttributes(5, asked, answers, Address(pointer));
  if (result != CUDA_SUCCESS) return result;
  // Only these fields exist in every version of the struct.
  attributes->device = device;
  attributes->devicePointer = device_pointer;
  attributes->hostPointer = host_pointer;
  if (managed != 0) {
    attributes->type = cudaMemoryTypeManaged;
  } else if (type == CU_MEMORYTYPE_DEVICE) {
    attributes->type = cudaMemoryTypeDevice;
  } else if (type == CU_MEMORYTYPE_HOST) {
    attributes->type = cudaMemoryTypeHost;
  } else {
    attributes->type = cudaMemoryTypeUnregistered;
    attributes->hostPointer = const_cast<void*>(pointer);
  }
  return CUDA_SUCCESS;
}

SIMCUDA_RT_STREAM(cudaMallocAsync, _ptsz, (void** pointer, size_t bytes, cudaStream_t stream),
                  (pointer, bytes, stream)) {
  if (pointer == nullptr) return cudaErrorInvalidValue;
  *pointer = nullptr;
  if (bytes == 0) return CUDA_SUCCESS;
  return cu.cuMemAllocAsync(reinterpret_cast<CUdeviceptr*>(pointer), bytes, stream);
}

SIMCUDA_RT_STREAM(cudaFreeAsync, _ptsz, (void* pointer, cudaStream_t stream), (pointer, stream)) {
  return pointer == nullptr ? CUDA_SUCCESS : cu.cuMemFreeAsync(Address(pointer), stream);
}

SIMCUDA_RT_STREAM(cudaMallocFromPoolAsync, _ptsz,
                  (void** pointer, size_t bytes, cudaMemPool_t pool, cudaStream_t stream),
                  (pointer, bytes, pool, stream)) {
  if (pointer == nullptr) return cudaErrorInvalidValue;
  *pointer = nullptr;
  if (bytes == 0) return CUDA_SUCCESS;
  return cu.cuMemAllocFromPoolAsync(reinterpret_cast<CUdeviceptr*>(pointer), bytes, pool, stream);
}

SIMCUDA_RT(cudaMemPoolCreate, (cudaMemPool_t * pool, const cudaMemPoolProps* properties),
           (pool, properties)) {
  static_assert(sizeof(cudaMemPoolProps) == sizeof(CUmemPoolProps));
  if (properties == nullptr) return cudaErrorInvalidValue;
  CUmemPoolProps converted;
  std::memcpy(&converted, properties, sizeof(converted));
  return cu.cuMemPoolCreate(pool, &converted);
}

SIMCUDA_RT(cudaMemPoolDestroy, (cudaMemPool_t pool), (pool)) { return cu.cuMemPoolDestroy(pool); }

SIMCUDA_RT(cudaMemPoolTrimTo, (cudaMemPool_t pool, size_t keep), (pool, keep)) {
  return cu.cuMemPoolTrimTo(pool, keep);
}

SIMCUDA_RT(cudaMemPoolSetAttribute, (cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value),
           (pool, attribute, value)) {
  return cu.cuMemPoolSetAttribute(pool, static_cast<CUmemPool_attribute>(attribute), value);
}

SIMCUDA_RT(cudaMemPoolGetAttribute, (cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value),
           (pool, attribute, value)) {
  return cu.cuMemPoolGetAttribute(pool, static_cast<CUmemPool_attribute>(attribute), value);
}

SIMCUDA_RT(cudaMemPoolSetAccess,
           (cudaMemPool_t pool, const cudaMemAccessDesc* descriptors, size_t count),
           (pool, descriptors, count)) {
  static_assert(sizeof(cudaMemAccessDesc) == sizeof(CUmemAccessDesc));
  return cu.cuMemPoolSetAccess(pool, reinterpret_cast<const CUmemAccessDesc*>(descriptors), count);
}

SIMCUDA_RT(cudaMemPoolGetAccess,
           (cudaMemAccessFlags * flags, cudaMemPool_t pool, cudaMemLocation* location),
           (flags, pool, location)) {
  return cu.cuMemPoolGetAccess(reinterpret_cast<CUmemAccess_flags*>(flags), pool,
                               reinterpret_cast<CUmemLocation*>(location));
}

SIMCUDA_RT(cudaDeviceGetDefaultMemPool, (cudaMemPool_t * pool, int device), (pool, device)) {
  return cu.cuDeviceGetDefaultMemPool(pool, device);
}

SIMCUDA_RT(cudaDeviceGetMemPool, (cudaMemPool_t * pool, int device), (pool, device)) {
  return cu.cuDeviceGetMemPool(pool, device);
}

SIMCUDA_RT(cudaDeviceSetMemPool, (int device, cudaMemPool_t pool), (device, pool)) {
  return cu.cuDeviceSetMemPool(device, pool);
}

SIMCUDA_RT(cudaMemRangeGetAttribute,
           (void* data, size_t data_bytes, cudaMemRangeAttribute attribute, const void* pointer,
            size_t count),
           (data, data_bytes, attribute, pointer, count)) {
  return cu.cuMemRangeGetAttribute(data, data_bytes, static_cast<CUmem_range_attribute>(attribute),
                                   Address(pointer), count);
}

SIMCUDA_RT(cudaMemRangeGetAttributes,
           (void** data, size_t* data_bytes, cudaMemRangeAttribute* attributes, size_t count,
            const void* pointer, size_t bytes),
           (data, data_bytes, attributes, count, pointer, bytes)) {
  return cu.cuMemRangeGetAttributes(data, data_bytes,
                                    reinterpret_cast<CUmem_range_attribute*>(attributes), count,
                                    Address(pointer), bytes);
}
