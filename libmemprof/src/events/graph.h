// Memory nodes of graphs. Making a node allocates nothing: its stack is stored, and each launch of
// the graph records the allocations and frees (GraphLedger).
#pragma once

#include "libmemprof/src/events/call.h"

namespace memprof::recorder {

// After a node was made, or its creation failed; the address is already set.
void RecordAllocNode(Call* call, CUresult result, CUgraph graph,
                     const CUDA_MEM_ALLOC_NODE_PARAMS* params);
void RecordFreeNode(Call* call, CUresult result, CUgraph graph, CUdeviceptr address);
void RecordNode(Call* call, CUresult result, CUgraph graph, const void* params);

struct AddAllocNode : MemoryEvent {
  void After(Call* call, CUresult result, CUgraphNode*, CUgraph graph, const CUgraphNode*,
             std::size_t, CUDA_MEM_ALLOC_NODE_PARAMS* params) const {
    RecordAllocNode(call, result, graph, params);
  }
};

struct AddFreeNode : MemoryEvent {
  void After(Call* call, CUresult result, CUgraphNode*, CUgraph graph, const CUgraphNode*,
             std::size_t, CUdeviceptr address) const {
    RecordFreeNode(call, result, graph, address);
  }
};

struct AddNode : MemoryEvent {
  void After(Call* call, CUresult result, CUgraphNode*, CUgraph graph, const CUgraphNode*,
             std::size_t, void* params) const {
    RecordNode(call, result, graph, params);
  }
};

struct AddNodeV2 : MemoryEvent {
  void After(Call* call, CUresult result, CUgraphNode*, CUgraph graph, const CUgraphNode*,
             const void*, std::size_t, void* params) const {
    RecordNode(call, result, graph, params);
  }
};

// The driver rejects graphs with memory nodes here and in cuGraphClone (CUDA 13.0); should that
// change, the child is copied or moved.
struct AddChildGraph : MemoryEvent {
  void After(Call* call, CUresult result, CUgraphNode*, CUgraph graph, const CUgraphNode*,
             std::size_t, CUgraph child) const {
    if (result == CUDA_SUCCESS)
      call->driver()->graphs()->AddChild(Number(graph), Number(child), false);
  }
};

struct CloneGraph : MemoryEvent {
  void After(Call* call, CUresult result, CUgraph* clone, CUgraph graph) const {
    if (result == CUDA_SUCCESS) call->driver()->graphs()->Clone(Number(graph), Number(*clone));
  }
};

struct InstantiateGraph : MemoryEvent {
  template <typename... Options>
  void After(Call* call, CUresult result, CUgraphExec* exec, CUgraph graph, Options...) const {
    if (result == CUDA_SUCCESS) call->driver()->graphs()->Instantiate(Number(graph), Number(*exec));
  }
};

struct UpdateExec : MemoryEvent {
  template <typename... Results>
  void After(Call* call, CUresult result, CUgraphExec exec, CUgraph graph, Results...) const {
    if (result == CUDA_SUCCESS) call->driver()->graphs()->Instantiate(Number(graph), Number(exec));
  }
};

// Takes the memory of the next launch, if the driver is told to reserve it early.
struct UploadGraph : MemoryEvent {
  void After(Call* call, CUresult result, CUgraphExec exec, CUstream stream) const;
};

class LaunchGraph : public MemoryEvent {
 public:
  void Before(Call* call, CUgraphExec exec, CUstream) {
    if (call->driver()->graphs()->HasMemory(Number(exec))) before_ns_ = NowNs();
  }
  void After(Call* call, CUresult result, CUgraphExec exec, CUstream stream) const;

 private:
  std::uint64_t before_ns_ = 0;  // 0 = the graph has no memory nodes
};

// Memory that launches have left allocated stays allocated.
struct DestroyExec : MemoryEvent {
  void Before(Call* call, CUgraphExec exec) const {
    call->driver()->graphs()->DestroyExec(Number(exec));
  }
};

struct DestroyGraph : MemoryEvent {
  void Before(Call* call, CUgraph graph) const {
    call->driver()->graphs()->DestroyGraph(Number(graph));
  }
};

struct TrimGraphMemory : MemoryEvent {
  void After(Call* call, CUresult result, CUdevice device) const;
};

}  // namespace memprof::recorder
