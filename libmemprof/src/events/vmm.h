// Virtual memory management: physical memory, address ranges, the mappings between them, and the
// handles by which physical memory is shared.
//
// Physical memory is recorded once, from cuMemCreate to the call that drops the last reference
// (VmmLedger). Address ranges and mappings have events of their own. Memory that this process
// exported and imports again is recognised (ExportTable), and not counted as another process's.
#pragma once

#include "libmemprof/src/events/call.h"

namespace memprof::recorder {

struct CreatePhysical : MemoryEvent {
  void After(Call* call, CUresult result, CUmemGenericAllocationHandle* handle, std::size_t bytes,
             const CUmemAllocationProp* properties, unsigned long long flags) const;
};

class ReleasePhysical : public MemoryEvent {
 public:
  void Before(Call* call, CUmemGenericAllocationHandle handle);
  void After(Call* call, CUresult result, CUmemGenericAllocationHandle handle) const;

 private:
  VmmLedger::Physical released_memory_;
  std::uint64_t before_ns_ = 0;
};

struct RetainPhysical : MemoryEvent {
  void After(Call* call, CUresult result, CUmemGenericAllocationHandle* handle, void*) const {
    if (result == CUDA_SUCCESS) call->driver()->vmm()->Retain(*handle);
  }
};

struct ExportPhysical : MemoryEvent {
  void After(Call* call, CUresult result, void* shared, CUmemGenericAllocationHandle handle,
             CUmemAllocationHandleType type, unsigned long long flags) const;
};

struct ImportPhysical : MemoryEvent {
  void After(Call* call, CUresult result, CUmemGenericAllocationHandle* handle, void* shared,
             CUmemAllocationHandleType type) const;
};

struct MapPhysical : MemoryEvent {
  void After(Call* call, CUresult result, CUdeviceptr address, std::size_t bytes,
             std::size_t offset, CUmemGenericAllocationHandle handle,
             unsigned long long flags) const;
};

// A range may cover several mappings: one event for the range, and one free for each memory that
// loses its last reference.
struct UnmapPhysical : MemoryEvent {
  std::uint64_t before_ns = 0;
  void Before(Call*, CUdeviceptr, std::size_t) { before_ns = NowNs(); }
  void After(Call* call, CUresult result, CUdeviceptr address, std::size_t bytes) const;
};

struct ReserveAddress : MemoryEvent {
  void After(Call* call, CUresult result, CUdeviceptr* address, std::size_t bytes,
             std::size_t alignment, CUdeviceptr hint, unsigned long long flags) const;
};

struct FreeAddress : MemoryEvent {
  void Before(Call* call, CUdeviceptr address, std::size_t bytes) const;
  void After(Call* call, CUresult result, CUdeviceptr address, std::size_t) const {
    call->Freed(result, kLayerVmmAddress, address);
  }
};

// Records an event of physical memory or of an address range; both outlive contexts.
void RecordVmm(Call* call, Op op, Layer layer, std::int32_t device, std::uint64_t address,
               std::uint64_t bytes, std::uint64_t aux0 = 0, std::uint64_t aux1 = 0);
// Records the free of memory that has lost its last reference.
void RecordPhysicalFree(Call* call, const VmmLedger::Physical& physical, std::uint64_t time_ns);

}  // namespace memprof::recorder
