// Linear, pitched, managed and pinned memory, and queries of memory.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "driver_api.h"
#include "simcuda/driver/allocation.h"
#include "simcuda/driver/context.h"
#include "simcuda/driver/device.h"
#include "simcuda/driver/graph_memory.h"
#include "simcuda/driver/managed.h"
#include "simcuda/driver/pool.h"

namespace memprof::simcuda {
namespace {

// Rows of pitched memory begin at multiples of this, as on real devices.
constexpr uint64_t kPitchAlignment = 512;

std::shared_ptr<Allocation> MakeAllocation(AllocationKind kind,
                                           const std::shared_ptr<Context>& context,
                                           uint64_t requested) {
  auto allocation = std::make_shared<Allocation>();
  allocation->kind = kind;
  allocation->device = context->device().id();
  allocation->context = context;
  allocation->requested = requested;
  return allocation;
}

CUresult AllocateLinear(CUdeviceptr* dptr, uint64_t bytes) {
  std::shared_ptr<Context> context;
  const CUresult result = RequireContext(&context);
  if (result != CUDA_SUCCESS) return result;
  if (dptr == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  auto allocation = MakeAllocation(AllocationKind::kLinear, context, bytes);
  DeviceMemory& memory = context->device().memory();
  if (!memory.Allocate(Use::kLinear, bytes, &allocation->address, &allocation->granted)) {
    TrimPoolsOf(&context->device());
    if (!memory.Allocate(Use::kLinear, bytes, &allocation->address, &allocation->granted)) {
      return CUDA_ERROR_OUT_OF_MEMORY;
    }
  }
  *dptr = allocation->address;
  Allocations().Add(std::move(allocation));
  return CUDA_SUCCESS;
}

// Anonymous memory of the machine, which takes no memory until it is touched.
uint64_t MapHostMemory(uint64_t bytes, uint64_t alignment) {
  const uint64_t mapped = bytes + (alignment > 4096 ? alignment : 0);
  void* mapping = mmap(nullptr, mapped, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) return 0;
  const auto start = reinterpret_cast<uint64_t>(mapping);
  const uint64_t aligned = RoundUp(start, alignment);
  if (aligned > start) munmap(mapping, aligned - start);
  const uint64_t end = start + mapped;
  if (end > aligned + bytes) {
    munmap(reinterpret_cast<void*>(aligned + bytes), end - aligned - bytes);
  }
  return aligned;
}

bool IsPageable(uint64_t bytes) { return bytes <= (uint64_t{1} << 46); }

}  // namespace

namespace api {

CUresult cuMemAlloc_v2(CUdeviceptr* dptr, size_t bytesize) {
  return AllocateLinear(dptr, bytesize);
}

CUresult cuMemAllocPitch_v2(CUdeviceptr* dptr, size_t* pPitch, size_t WidthInBytes, size_t Height,
                            unsigned int ElementSizeBytes) {
  if (pPitch == nullptr || WidthInBytes == 0 || Height == 0) return CUDA_ERROR_INVALID_VALUE;
  if (ElementSizeBytes != 4 && ElementSizeBytes != 8 && ElementSizeBytes != 16) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (WidthInBytes > (uint64_t{1} << 40)) return CUDA_ERROR_INVALID_VALUE;
  const uint64_t pitch = RoundUp(WidthInBytes, kPitchAlignment);
  uint64_t bytes = 0;
  if (__builtin_mul_overflow(pitch, Height, &bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  const CUresult result = AllocateLinear(dptr, bytes);
  if (result == CUDA_SUCCESS) *pPitch = pitch;
  return result;
}

CUresult cuMemFree_v2(CUdeviceptr dptr) {
  std::shared_ptr<Context> context;
  const CUresult result = RequireContext(&context);
  if (result != CUDA_SUCCESS) return result;
  if (dptr == 0) return CUDA_SUCCESS;
  const auto freeable = [](const Allocation& one) {
    return one.kind == AllocationKind::kLinear || one.kind == AllocationKind::kManaged ||
           one.kind == AllocationKind::kStreamOrdered || one.kind == AllocationKind::kImported;
  };
  const auto found = Allocations().Find(dptr);
  if (found != nullptr && found->kind == AllocationKind::kGraph) {
    context->Synchronize();
    const auto memory = GraphMemory::Get().Free(dptr);
    if (memory == nullptr) return CUDA_ERROR_INVALID_VALUE;
    DropContents(*memory);
    return CUDA_SUCCESS;
  }
  if (found == nullptr || found->address != dptr || !freeable(*found)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  // Work enqueued so far may still use it.
  found->context->Synchronize();
  if (context != found->context) context->Synchronize();
  const auto allocation =
      Allocations().Remove(dptr, [&](const Allocation& one) { return one.id == found->id; });
  if (allocation == nullptr) return CUDA_ERROR_INVALID_VALUE;
  ReleaseAllocation(*allocation);
  return CUDA_SUCCESS;
}

CUresult cuMemAllocManaged(CUdeviceptr* dptr, size_t bytesize, unsigned int flags) {
  std::shared_ptr<Context> context;
  const CUresult result = RequireContext(&context);
  if (result != CUDA_SUCCESS) return result;
  if (dptr == nullptr || bytesize == 0) return CUDA_ERROR_INVALID_VALUE;
  if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (!IsPageable(bytesize)) return CUDA_ERROR_OUT_OF_MEMORY;
  auto allocation = MakeAllocation(AllocationKind::kManaged, context, bytesize);
  allocation->flags = flags;
  allocation->granted = RoundUp(bytesize, kPageBytes);
  allocation->address = MapHostMemory(allocation->granted, kPageBytes);
  if (allocation->address == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  // As much as fits is on the device; the rest stays on the host.
  allocation->pages = std::make_shared<ManagedPages>(allocation->granted / kPageBytes);
  allocation->pages->Place(&context->device());
  *dptr = allocation->address;
  Allocations().Add(std::move(allocation));
  return CUDA_SUCCESS;
}

CUresult cuMemHostAlloc(void** pp, size_t bytesize, unsigned int Flags) {
  std::shared_ptr<Context> context;
  const CUresult result = RequireContext(&context);
  if (result != CUDA_SUCCESS) return result;
  if (pp == nullptr || (Flags & ~7u) != 0) return CUDA_ERROR_INVALID_VALUE;
  *pp = nullptr;
  if (bytesize == 0) return CUDA_ERROR_INVALID_VALUE;
  if (!IsPageable(bytesize)) return CUDA_ERROR_OUT_OF_MEMORY;
  auto allocation = MakeAllocation(AllocationKind::kPinned, context, bytesize);
  allocation->flags = Flags;
  allocation->granted = RoundUp(bytesize, 4096);
  allocation->address = MapHostMemory(allocation->granted, 4096);
  if (allocation->address == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  *pp = reinterpret_cast<void*>(allocation->address);
  Allocations().Add(std::move(allocation));
  return CUDA_SUCCESS;
}

CUresult cuMemAllocHost_v2(void** pp, size_t bytesize) { return cuMemHostAlloc(pp, bytesize, 0); }

CUresult cuMemAllocHost(void** pp, unsigned int bytesize) {
  return api::cuMemHostAlloc(pp, bytesize, 0);
}

CUresult cuMemFreeHost(void* p) {
  std::shared_ptr<Context> context;
  const CUresult result = RequireContext(&context);
  if (result != CUDA_SUCCESS) return result;
  const auto found = Allocations().Find(reinterpret_cast<uint64_t>(p));
  if (found == nullptr || found->kind != AllocationKind::kPinned ||
      found->address != reinterpret_cast<uint64_t>(p)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  found->context->Synchronize();
  const auto allocation = Allocations().Remove(
      found->address, [&](const Allocation& one) { return one.id == found->id; });
  if (allocation == nullptr) return CUDA_ERROR_INVALID_VALUE;
  ReleaseAllocation(*allocation);
  return CUDA_SUCCESS;
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* pdptr, void* p, unsigned int Flags) {
  if (pdptr == nullptr || Flags != 0) return CUDA_ERROR_INVALID_VALUE;
  const auto found = Allocations().Find(reinterpret_cast<uint64_t>(p));
  if (found == nullptr || !found->on_host()) return CUDA_ERROR_INVALID_VALUE;
  *pdptr = reinterpret_cast<uint64_t>(p);
  return CUDA_SUCCESS;
}

CUresult cuMemHostGetFlags(unsigned int* pFlags, void* p) {
  const auto found = Allocations().Find(reinterpret_cast<uint64_t>(p));
  if (pFlags == nullptr || found == nullptr || found->kind != AllocationKind::kPinned) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *pFlags = found->flags | CU_MEMHOSTALLOC_DEVICEMAP;
  return CUDA_SUCCESS;
}

CUresult cuMemHostRegister_v2(void* p, size_t bytesize, unsigned int Flags) {
  std::shared_ptr<Context> context;
  const CUresult result = RequireContext(&context);
  if (result != CUDA_SUCCESS) return result;
  if (p == nullptr || bytesize == 0 || (Flags & ~15u) != 0) return CUDA_ERROR_INVALID_VALUE;
  if (UINT64_MAX - reinterpret_cast<uint64_t>(p) < bytesize) return CUDA_ERROR_INVALID_VALUE;
  auto allocation = MakeAllocation(AllocationKind::kRegistered, context, bytesize);
  allocation->flags = Flags;
  allocation->address = reinterpret_cast<uint64_t>(p);
  allocation->granted = bytesize;
  return Allocations().Add(std::move(allocation)) ? CUDA_SUCCESS
                                                  : CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
}

CUresult cuMemHostUnregister(void* p) {
  std::shared_ptr<Context> context;
  const CUresult result = RequireContext(&context);
  if (result != CUDA_SUCCESS) return result;
  const auto found = Allocations().Find(reinterpret_cast<uint64_t>(p));
  if (found == nullptr || found->kind != AllocationKind::kRegistered) {
    return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
  }
  if (found->address != reinterpret_cast<uint64_t>(p)) return CUDA_ERROR_INVALID_VALUE;
  found->context->Synchronize();
  const auto removed = Allocations().Remove(
      found->address, [&](const Allocation& one) { return one.id == found->id; });
  return removed == nullptr ? CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED : CUDA_SUCCESS;
}

CUresult cuMemGetInfo_v2(size_t* free, size_t* total) {
  std::shared_ptr<Context> context;
  const CUresult result = RequireContext(&context);
  if (result != CUDA_SUCCESS) return result;
  const DeviceMemory& memory = context->device().memory();
  if (free != nullptr) *free = memory.free_bytes();
  if (total != nullptr) *total = memory.capacity();
  return CUDA_SUCCESS;
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr* pbase, size_t* psize, CUdeviceptr dptr) {
  std::shared_ptr<Context> context;
  const CUresult result = RequireContext(&context);
  if (result != CUDA_SUCCESS) return result;
  const auto found = Allocations().Find(dptr);
  if (found == nullptr) return CUDA_ERROR_NOT_FOUND;
  if (pbase != nullptr) *pbase = found->address;
  if (psize != nullptr) *psize = found->requested;
  return CUDA_SUCCESS;
}

}  // namespace api
}  // namespace memprof::simcuda
