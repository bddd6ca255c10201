// Stream-ordered allocation and memory pools.
#include "driver_api.h"
#include "simcuda/driver/allocation.h"
#include "simcuda/driver/capture.h"
#include "simcuda/driver/context.h"
#include "simcuda/driver/device.h"
#include "simcuda/driver/graph_memory.h"
#include "simcuda/driver/pool.h"

namespace memprof::simcuda {
namespace {

CUresult AllocateFrom(const std::shared_ptr<Pool>& pool, CUdeviceptr* dptr, size_t bytes,
                      CUstream handle) {
  std::shared_ptr<Context> context;
  std::shared_ptr<Stream> stream;
  const CUresult known = RequireStream(handle, &context, &stream);
  if (known != CUDA_SUCCESS) return known;
  if (pool->imported()) return CUDA_ERROR_INVALID_VALUE;
  if (bytes == 0) {
    *dptr = 0;
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (IsCapturing(stream)) return CaptureAllocation(stream, &pool->device(), bytes, dptr);
  auto allocation = std::make_shared<Allocation>();
  allocation->kind = AllocationKind::kStreamOrdered;
  allocation->device = pool->device().id();
  allocation->context = context;
  allocation->pool = pool;
  allocation->requested = bytes;
  std::vector<StreamPoint> after;
  CUresult result =
      pool->Allocate(bytes, stream, &allocation->address, &allocation->granted, &after);
  if (result == CUDA_ERROR_OUT_OF_MEMORY && !OnStreamWorker()) {
    // Pending frees may make space.
    context->Synchronize();
    result = pool->Allocate(bytes, stream, &allocation->address, &allocation->granted, &after);
  }
  if (result != CUDA_SUCCESS) return result;
  if (!after.empty())
    context->Enqueue(
        stream, [] {}, Stream::Mode::kQuick, std::move(after));
  *dptr = allocation->address;
  Allocations().Add(std::move(allocation));
  return CUDA_SUCCESS;
}

// The pool behind a handle, or null.
std::shared_ptr<Pool> FindPool(CUmemoryPool handle) { return AllHandles<Pool>().Find(handle); }

CUmemoryPool HandleOf(const std::shared_ptr<Pool>& pool) {
  return reinterpret_cast<CUmemoryPool>(pool.get());
}

bool IsDefaultPool(const std::shared_ptr<Pool>& pool) {
  return pool->device().default_pool() == pool;
}

}  // namespace

namespace api {

CUresult cuMemAllocAsync(CUdeviceptr* dptr, size_t bytesize, CUstream hStream) {
  if (dptr == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Context> context;
  std::shared_ptr<Stream> stream;
  const CUresult result = RequireStream(hStream, &context, &stream);
  if (result != CUDA_SUCCESS) return result;
  return AllocateFrom(context->device().current_pool(), dptr, bytesize, hStream);
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr* dptr, size_t bytesize, CUmemoryPool pool,
                                 CUstream hStream) {
  const auto found = FindPool(pool);
  if (dptr == nullptr || found == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return AllocateFrom(found, dptr, bytesize, hStream);
}

CUresult cuMemFreeAsync(CUdeviceptr dptr, CUstream hStream) {
  std::shared_ptr<Context> context;
  std::shared_ptr<Stream> stream;
  const CUresult result = RequireStream(hStream, &context, &stream);
  if (result != CUDA_SUCCESS) return result;
  if (dptr == 0) return CUDA_ERROR_INVALID_VALUE;
  if (IsCapturing(stream)) return CaptureFree(stream, dptr);
  if (const auto memory = GraphMemory::Get().Free(dptr); memory != nullptr) {
    context->Enqueue(
        stream, [memory] { DropContents(*memory); }, Stream::Mode::kQuick);
    return CUDA_SUCCESS;
  }
  const auto allocation = Allocations().Remove(dptr, [](const Allocation& one) {
    return one.kind == AllocationKind::kStreamOrdered || one.kind == AllocationKind::kLinear ||
           one.kind == AllocationKind::kManaged || one.kind == AllocationKind::kImported;
  });
  if (allocation == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (allocation->kind == AllocationKind::kStreamOrdered) {
    allocation->pool->FreeAsync(allocation->address, allocation->granted, stream->Last());
    return CUDA_SUCCESS;
  }
  context->Enqueue(
      stream, [allocation] { ReleaseAllocation(*allocation); }, Stream::Mode::kQuick);
  return CUDA_SUCCESS;
}

CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* poolProps) {
  if (pool == nullptr || poolProps == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (poolProps->allocType != CU_MEM_ALLOCATION_TYPE_PINNED) return CUDA_ERROR_INVALID_VALUE;
  if (poolProps->location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_NOT_SUPPORTED;
  if (poolProps->handleTypes != CU_MEM_HANDLE_TYPE_NONE &&
      poolProps->handleTypes != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  Device* device = FindDevice(poolProps->location.id);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  uint64_t max_bytes = 0;
#if CUDA_VERSION >= 12020
  max_bytes = poolProps->maxSize;
#endif
  const auto made = Pool::Create(device, max_bytes);
  made->set_handle_types(static_cast<unsigned>(poolProps->handleTypes));
  *pool = HandleOf(made);
  return CUDA_SUCCESS;
}

CUresult cuMemPoolDestroy(CUmemoryPool pool) {
  const auto found = FindPool(pool);
  if (found == nullptr || IsDefaultPool(found)) return CUDA_ERROR_INVALID_VALUE;
  if (found->device().current_pool() == found) found->device().set_current_pool(nullptr);
  if (AllHandles<Pool>().Remove(pool) == nullptr) return CUDA_ERROR_INVALID_VALUE;
  found->Abandon();
  return CUDA_SUCCESS;
}

CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t minBytesToKeep) {
  const auto found = FindPool(pool);
  if (found == nullptr) return CUDA_ERROR_INVALID_VALUE;
  found->Trim(minBytesToKeep);
  return CUDA_SUCCESS;
}

CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void* value) {
  const auto found = FindPool(pool);
  if (found == nullptr || value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return found->SetAttribute(attr, value);
}

CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void* value) {
  const auto found = FindPool(pool);
  if (found == nullptr || value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return found->GetAttribute(attr, value);
}

CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc* map, size_t count) {
  const auto found = FindPool(pool);
  if (found == nullptr || (map == nullptr && count != 0)) return CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; i < count; ++i) {
    if (map[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_INVALID_VALUE;
    if (FindDevice(map[i].location.id) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  }
  for (size_t i = 0; i < count; ++i) found->SetAccess(map[i].location.id, map[i].flags);
  return CUDA_SUCCESS;
}

CUresult cuMemPoolGetAccess(CUmemAccess_flags* flags, CUmemoryPool memPool,
                            CUmemLocation* location) {
  const auto found = FindPool(memPool);
  if (found == nullptr || flags == nullptr || location == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *flags = found->GetAccess(location->id);
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* pool_out, CUdevice dev) {
  Device* device = FindDevice(dev);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (pool_out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pool_out = HandleOf(device->default_pool());
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetMemPool(CUmemoryPool* pool, CUdevice dev) {
  Device* device = FindDevice(dev);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pool = HandleOf(device->current_pool());
  return CUDA_SUCCESS;
}

CUresult cuDeviceSetMemPool(CUdevice dev, CUmemoryPool pool) {
  Device* device = FindDevice(dev);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  const auto found = FindPool(pool);
  if (found == nullptr || &found->device() != device || found->imported()) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  device->set_current_pool(found);
  return CUDA_SUCCESS;
}

#if CUDA_VERSION >= 13000
CUresult cuMemGetDefaultMemPool(CUmemoryPool* pool_out, CUmemLocation* location,
                                CUmemAllocationType type) {
  if (location == nullptr || type != CU_MEM_ALLOCATION_TYPE_PINNED) return CUDA_ERROR_INVALID_VALUE;
  if (location->type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_NOT_SUPPORTED;
  return api::cuDeviceGetDefaultMemPool(pool_out, location->id);
}

CUresult cuMemGetMemPool(CUmemoryPool* pool, CUmemLocation* location, CUmemAllocationType type) {
  if (location == nullptr || type != CU_MEM_ALLOCATION_TYPE_PINNED) return CUDA_ERROR_INVALID_VALUE;
  if (location->type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_NOT_SUPPORTED;
  return api::cuDeviceGetMemPool(pool, location->id);
}

CUresult cuMemSetMemPool(CUmemLocation* location, CUmemAllocationType type, CUmemoryPool pool) {
  if (location == nullptr || type != CU_MEM_ALLOCATION_TYPE_PINNED) return CUDA_ERROR_INVALID_VALUE;
  if (location->type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_NOT_SUPPORTED;
  return api::cuDeviceSetMemPool(location->id, pool);
}
#endif

}  // namespace api
}  // namespace memprof::simcuda
