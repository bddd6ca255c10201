// Memory, events and pools shared between processes, and imported memory.
#include <cuda_runtime_api.h>

#include <cstring>

#include "simcuda/runtime/state.h"

using memprof::simcuda::runtime::Address;

namespace {

// The handles of both interfaces are the same 64 opaque bytes.
template <class To, class From>
To Same(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof(to));
  return to;
}

}  // namespace

SIMCUDA_RT(cudaIpcGetMemHandle, (cudaIpcMemHandle_t * handle, void* pointer), (handle, pointer)) {
  return cu.cuIpcGetMemHandle(reinterpret_cast<CUipcMemHandle*>(handle), Address(pointer));
}

SIMCUDA_RT(cudaIpcOpenMemHandle, (void** pointer, cudaIpcMemHandle_t handle, unsigned flags),
           (pointer, handle, flags)) {
  return cu.cuIpcOpenMemHandle_v2(reinterpret_cast<CUdeviceptr*>(pointer),
                                  Same<CUipcMemHandle>(handle), flags);
}

SIMCUDA_RT(cudaIpcCloseMemHandle, (void* pointer), (pointer)) {
  return cu.cuIpcCloseMemHandle(Address(pointer));
}

SIMCUDA_RT(cudaIpcGetEventHandle, (cudaIpcEventHandle_t * handle, cudaEvent_t event),
           (handle, event)) {
  return cu.cuIpcGetEventHandle(reinterpret_cast<CUipcEventHandle*>(handle), event);
}

SIMCUDA_RT(cudaIpcOpenEventHandle, (cudaEvent_t * event, cudaIpcEventHandle_t handle),
           (event, handle)) {
  return cu.cuIpcOpenEventHandle(event, Same<CUipcEventHandle>(handle));
}

SIMCUDA_RT(cudaMemPoolExportToShareableHandle,
           (void* handle, cudaMemPool_t pool, cudaMemAllocationHandleType type, unsigned flags),
           (handle, pool, type, flags)) {
  return cu.cuMemPoolExportToShareableHandle(handle, pool,
                                             static_cast<CUmemAllocationHandleType>(type), flags);
}

SIMCUDA_RT(cudaMemPoolImportFromShareableHandle,
           (cudaMemPool_t * pool, void* handle, cudaMemAllocationHandleType type, unsigned flags),
           (pool, handle, type, flags)) {
  return cu.cuMemPoolImportFromShareableHandle(pool, handle,
                                               static_cast<CUmemAllocationHandleType>(type), flags);
}

SIMCUDA_RT(cudaMemPoolExportPointer, (cudaMemPoolPtrExportData * data, void* pointer),
           (data, pointer)) {
  static_assert(sizeof(cudaMemPoolPtrExportData) == sizeof(CUmemPoolPtrExportData));
  return cu.cuMemPoolExportPointer(reinterpret_cast<CUmemPoolPtrExportData*>(data),
                                   Address(pointer));
}

SIMCUDA_RT(cudaMemPoolImportPointer,
           (void** pointer, cudaMemPool_t pool, cudaMemPoolPtrExportData* data),
           (pointer, pool, data)) {
  return cu.cuMemPoolImportPointer(reinterpret_cast<CUdeviceptr*>(pointer), pool,
                                   reinterpret_cast<CUmemPoolPtrExportData*>(data));
}

SIMCUDA_RT(cudaImportExternalMemory,
           (cudaExternalMemory_t * memory, const cudaExternalMemoryHandleDesc* description),
           (memory, description)) {
  if (description == nullptr) return cudaErrorInvalidValue;
  CUDA_EXTERNAL_MEMORY_HANDLE_DESC converted = {};
  converted.type = static_cast<CUexternalMemoryHandleType>(description->type);
  converted.handle.fd = description->handle.fd;
  converted.size = description->size;
  converted.flags = description->flags;
  return cu.cuImportExternalMemory(reinterpret_cast<CUexternalMemory*>(memory), &converted);
}

SIMCUDA_RT(cudaExternalMemoryGetMappedBuffer,
           (void** pointer, cudaExternalMemory_t memory,
            const cudaExternalMemoryBufferDesc* description),
           (pointer, memory, description)) {
  if (description == nullptr) return cudaErrorInvalidValue;
  CUDA_EXTERNAL_MEMORY_BUFFER_DESC converted = {};
  converted.offset = description->offset;
  converted.size = description->size;
  converted.flags = description->flags;
  return cu.cuExternalMemoryGetMappedBuffer(reinterpret_cast<CUdeviceptr*>(pointer),
                                            reinterpret_cast<CUexternalMemory>(memory), &converted);
}

SIMCUDA_RT(cudaDestroyExternalMemory, (cudaExternalMemory_t memory), (memory)) {
  return cu.cuDestroyExternalMemory(reinterpret_cast<CUexternalMemory>(memory));
}
