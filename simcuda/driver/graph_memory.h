// Memory nodes of graphs: allocations whose addresses are fixed when their node is made, and whose
// memory exists from the node's execution in a launch to its free.
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

// The allocation of an allocation node. Its addresses exist as long as the node.
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

// The memory of graphs on all devices. Accounted in the order of the launch calls: as if graphs ran
// one after another, so that all share the memory reserved for them. Thread-safe.
class GraphMemory {
 public:
  static GraphMemory& Get();

  // Addresses for a new allocation node. params.dptr is set on success.
  CUresult Create(const Graph* owner, CUDA_MEM_ALLOC_NODE_PARAMS* params,
                  std::shared_ptr<GraphAllocation>* allocation);
  // The allocation that a free node of the graph would free; null if it must not.
  std::shared_ptr<GraphAllocation> ClaimFree(const Graph* graph, uint64_t address);

  // Accounts for one launch of these nodes; reserves the memory that it needs. With `auto_free`,
  // first frees what an earlier launch left allocated.
  CUresult Launch(const std::vector<std::shared_ptr<GraphNode>>& nodes, bool auto_free);
  // Frees what a launch left allocated. Null if there is no such allocation; else the allocation,
  // whose contents the caller drops when the stream reaches this point.
  std::shared_ptr<GraphAllocation> Free(uint64_t address);

  CUresult GetAttribute(Device* device, CUgraphMem_attribute attribute, uint64_t* value);
  CUresult SetAttribute(Device* device, CUgraphMem_attribute attribute, uint64_t value);
  // Releases reserved memory that is not used.
  void Trim(Device* device);
  // When the device's primary context ends: frees and releases everything.
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

// Releases the machine's memory behind the allocation.
void DropContents(const GraphAllocation& allocation);

}  // namespace memprof::simcuda

#endif  // SIMCUDA_DRIVER_GRAPH_MEMORY_H
