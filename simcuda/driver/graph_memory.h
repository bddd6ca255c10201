// Memory nodes of graphs: allocations whose addresses are fixed when their node is made, and whose
// memory is there from the node's turn in a launch to the free.
#ifndef SIMCUDA_DRIVER_GRAPH_MEMORY_H
#define SIMCUDA_DRIVER_GRAPH_MEMORY_H

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "simcuda/driver/allocation.h"
#include "simcuda/driver/cuda_headers.h"

namespace memprof::simcuda {

class Device;
class Graph;
struct GraphNode;

// What an allocation node allocates. The addresses last as long as it does.
struct GraphAllocation {
  ~GraphAllocation();
  Device* device = nullptr;
  const Graph* owner = nullptr;
  CUDA_MEM_ALLOC_NODE_PARAMS params{};
  uint64_t address = 0;
  uint64_t bytes = 0;  // whole pages
  std::shared_ptr<Allocation> record;
  // Which graphs have nodes that free it: the owner or others, never both. Guarded by GraphMemory.
  bool freed_by_owner = false;
  bool freed_by_others = false;
};

// The accounts of all devices. They are kept in the order of the launch calls: as if graphs ran one
// after another, so that all share the memory that is reserved for them. Thread-safe.
class GraphMemory {
 public:
  static GraphMemory& Get();

  // Addresses for a new allocation node. params.dptr is set on success.
  CUresult Create(const Graph* owner, CUDA_MEM_ALLOC_NODE_PARAMS* params,
                  std::shared_ptr<GraphAllocation>* allocation);
  // The allocation that a free node of the graph would free; null when it may not.
  std::shared_ptr<GraphAllocation> ClaimFree(const Graph* graph, uint64_t address);

  // Does the accounts of one launch of these nodes; reserves what it takes. With `auto_free`, what
  // an earlier launch left allocated is freed first.
  CUresult Launch(const std::vector<std::shared_ptr<GraphNode>>& nodes, bool auto_free);
  // Frees what a launch left allocated. Null when that is not so; else the allocation, whose
  // contents the caller drops when the stream gets there.
  std::shared_ptr<GraphAllocation> Free(uint64_t address);

  CUresult GetAttribute(Device* device, CUgraphMem_attribute attribute, uint64_t* value);
  CUresult SetAttribute(Device* device, CUgraphMem_attribute attribute, uint64_t value);
  // Gives back what is reserved and not used.
  void Trim(Device* device);
  // The device's primary context ends: nothing is allocated or reserved any more.
  void Reset(Device* device);

 private:
  struct Account {
    uint64_t used = 0;
    uint64_t used_high = 0;
    uint64_t reserved = 0;
    uint64_t reserved_high = 0;
  };
  struct Plan;
  CUresult Simulate(const std::vector<std::shared_ptr<GraphNode>>& nodes, bool auto_free,
                    Plan* plan);
  void TrimLocked(Device* device);

  std::mutex mutex_;
  std::map<Device*, Account> accounts_;
  std::map<uint64_t, std::weak_ptr<GraphAllocation>> known_;  // by address
  std::map<uint64_t, std::shared_ptr<GraphAllocation>> live_;
};

// Gives the memory behind the allocation back to the machine.
void DropContents(const GraphAllocation& allocation);

}  // namespace memprof::simcuda

#endif  // SIMCUDA_DRIVER_GRAPH_MEMORY_H
