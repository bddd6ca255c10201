// All allocations with an address: their kind, their context, and how they are freed.
#ifndef SIMCUDA_DRIVER_ALLOCATION_H
#define SIMCUDA_DRIVER_ALLOCATION_H

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <shared_mutex>
#include <vector>

#include "simcuda/driver/cuda_headers.h"

namespace memprof::simcuda {

class Context;
class ManagedPages;
class Pool;

enum class AllocationKind {
  kLinear,
  kManaged,
  kPinned,
  kRegistered,
  kStreamOrdered,
  kGlobal,    // a variable of a module
  kMapped,    // a mapping of a VMM handle
  kIpc,       // memory of another process, opened by its IPC handle
  kImported,  // memory of another process or API that cuMemFree unmaps
  kGraph,     // the address of a memory node of a graph
  kGraphics,  // a mapped buffer of a graphics interface
};

struct Allocation {
  uint64_t address = 0;
  uint64_t requested = 0;  // requested bytes; for pitched memory pitch times height
  uint64_t granted = 0;    // bytes taken
  AllocationKind kind = AllocationKind::kLinear;
  int device = 0;
  std::shared_ptr<Context> context;  // null for mappings
  std::shared_ptr<Pool> pool;        // of stream-ordered memory
  unsigned flags = 0;
  std::shared_ptr<ManagedPages> pages;  // of managed memory: locations and advice
  uint64_t id = 0;                      // CU_POINTER_ATTRIBUTE_BUFFER_ID
  uint64_t handle = 0;                  // of mappings
  uint64_t offset = 0;
  uint64_t mapping = 0;  // of memory of other processes: what was mapped for it
  uint64_t mapping_bytes = 0;
  std::atomic<bool> live{true};  // of graphs: from the launch of its node to its free
  std::atomic<bool> readable{true};
  std::atomic<bool> writable{true};

  bool on_device() const {
    return kind != AllocationKind::kPinned && kind != AllocationKind::kRegistered;
  }
  bool on_host() const {
    return kind == AllocationKind::kPinned || kind == AllocationKind::kRegistered ||
           kind == AllocationKind::kManaged;
  }
};

// Thread-safe.
class AllocationTable {
 public:
  // Adds an allocation and gives it an id. False if it overlaps another one.
  bool Add(std::shared_ptr<Allocation> allocation);
  // The allocation that contains the address, or null.
  std::shared_ptr<Allocation> Find(uint64_t address) const;
  // Removes the allocation that begins at the address, if `accept` returns true.
  std::shared_ptr<Allocation> Remove(uint64_t address,
                                     const std::function<bool(const Allocation&)>& accept);
  std::vector<std::shared_ptr<Allocation>> RemoveIf(
      const std::function<bool(const Allocation&)>& accept);
  std::shared_ptr<Allocation> FindIf(const std::function<bool(const Allocation&)>& accept) const;
  uint64_t Count(const std::function<bool(const Allocation&)>& accept) const;

 private:
  mutable std::shared_mutex mutex_;
  std::map<uint64_t, std::shared_ptr<Allocation>> by_address_;
  uint64_t next_id_ = 1;
};

AllocationTable& Allocations();

// Whether [address, address + bytes) lies in one allocation, or in adjacent mappings.
bool InsideAllocations(uint64_t address, uint64_t bytes);

// Frees the memory of an allocation that was removed from the table.
void ReleaseAllocation(const Allocation& allocation);
// Frees all allocations of a context that ends.
void FreeAllocationsOf(uint32_t context_uid);

}  // namespace memprof::simcuda

#endif  // SIMCUDA_DRIVER_ALLOCATION_H
