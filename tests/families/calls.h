// Calls that several families make.
#pragma once

#include <unistd.h>

#include "driver.h"

constexpr std::size_t kPage = 2 << 20;
constexpr CUmemAllocationHandleType kFile = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

inline CUdeviceptr Allocate(std::size_t bytes, int device = 0) {
  return TAKE(PROC(cuMemAlloc_v2, "cuMemAlloc", 3020), "linear", device, bytes, bytes);
}

inline CUdeviceptr AllocateManaged(std::size_t bytes, unsigned flags = CU_MEM_ATTACH_GLOBAL) {
  const auto allocate = PROC(cuMemAllocManaged, "cuMemAllocManaged", 6000);
  return TAKE(allocate, "managed", 0, bytes, bytes, flags);
}

inline void Free(CUdeviceptr memory, std::size_t bytes, const char* layer = "linear") {
  GIVE(PROC(cuMemFree_v2, "cuMemFree", 3020), layer, 0, bytes, memory);
}

inline void FreeAsync(CUdeviceptr memory, std::size_t bytes, const char* layer,
                      CUstream stream = nullptr) {
  GIVE(PROC(cuMemFreeAsync, "cuMemFreeAsync", 11020), layer, 0, bytes, memory, stream);
}

inline CUstream NewStream() {
  CUstream stream = nullptr;
  MUST(PROC(cuStreamCreate, "cuStreamCreate", 2000)(&stream, CU_STREAM_NON_BLOCKING));
  return stream;
}

inline CUmemoryPool NewPool(CUmemAllocationHandleType shared_as = CU_MEM_HANDLE_TYPE_NONE,
                            bool by_symbol = false) {
  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
  properties.handleTypes = shared_as;
  const auto create =
      by_symbol ? SYMBOL(cuMemPoolCreate) : PROC(cuMemPoolCreate, "cuMemPoolCreate", 11020);
  return MAKE("pool_create", create, "stream-ordered", 0, 0, &properties);
}

// Physical memory; a file of it; the memory of a file, which is closed.
inline CUmemAllocationProp On(int device) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, {device}};
  return properties;
}

inline CUmemGenericAllocationHandle Create(
    std::size_t bytes, int device = 0,
    CUmemAllocationHandleType shared_as = CU_MEM_HANDLE_TYPE_NONE, unsigned short usage = 0) {
  CUmemAllocationProp properties = On(device);
  properties.requestedHandleTypes = shared_as;
  properties.allocFlags.usage = usage;
  const auto create = PROC(cuMemCreate, "cuMemCreate", 10020);
  return TAKE(create, "vmm", device, bytes, bytes, &properties, 0);
}

inline int Exported(CUmemGenericAllocationHandle handle) {
  int file = -1;
  const auto export_it = PROC(cuMemExportToShareableHandle, "cuMemExportToShareableHandle", 10020);
  MUST(export_it(&file, handle, kFile, 0));
  return file;
}

inline CUmemGenericAllocationHandle Imported(int file) {
  CUmemGenericAllocationHandle handle = 0;
  void* const shared = reinterpret_cast<void*>(static_cast<std::intptr_t>(file));
  const auto import = PROC(cuMemImportFromShareableHandle, "cuMemImportFromShareableHandle", 10020);
  MUST(import(&handle, shared, kFile));
  close(file);
  return handle;
}
