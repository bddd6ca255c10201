// Stream-ordered memory and its pools.
//
// An allocation moves bytes within a pool. What the pool holds beyond that is sampled: at most once
// a millisecond, and whenever a pool is created or trimmed, or an allocation fails. While a stream
// is being captured nothing is allocated or freed: the call becomes a node of a graph (graph.h).
//
// A pool may lie in host memory (cuMemPoolCreate with a location of the host or one of its NUMA
// nodes). Its allocations are pinned memory, on no device and of no context.
#pragma once

#include "libmemprof/src/driver/stream_capture.h"
#include "libmemprof/src/events/graph.h"
#include "libmemprof/src/events/memory_samples.h"

namespace memprof::recorder {

// Records an allocation on the current device, or a node of a graph. Inlined, because it is called
// often.
inline void RecordStreamOrdered(Call* call, CUresult result, CUdeviceptr* pointer,
                                std::size_t bytes, std::uint64_t pool, CUstream stream) {
  CUgraph graph = nullptr;
  if (Capturing(call->id(), stream, &graph)) {
    CUDA_MEM_ALLOC_NODE_PARAMS node{};
    node.bytesize = bytes;
    node.dptr = Output(result, pointer);
    return RecordAllocNode(call, result, graph, &node);
  }
  call->Allocated(result, kLayerStreamOrdered, Output(result, pointer), bytes, pool, 0, stream);
  if (result != CUDA_SUCCESS || call->driver()->TimeForPoolSample(NowNs()))
    SamplePools(call->slot());
}

struct AllocateAsync : MemoryEvent {
  void After(Call* call, CUresult result, CUdeviceptr* pointer, std::size_t bytes,
             CUstream stream) const {
    const std::uint64_t pool = call->driver()->CurrentPool(call->Context().device);
    RecordStreamOrdered(call, result, pointer, bytes, pool, stream);
  }
};

struct AllocateFromPool : MemoryEvent {
  void After(Call* call, CUresult result, CUdeviceptr* pointer, std::size_t bytes,
             CUmemoryPool pool, CUstream stream) const;
};

class FreeAsync : public MemoryEvent {
 public:
  void Before(Call* call, CUdeviceptr pointer, CUstream stream) {
    captured_ = Capturing(call->id(), stream, &graph_);
    if (!captured_) call->Freeing(kLayerStreamOrdered, pointer, stream);
  }
  void After(Call* call, CUresult result, CUdeviceptr pointer, CUstream) const {
    if (captured_)
      RecordFreeNode(call, result, graph_, pointer);
    else
      call->Freed(result, kLayerStreamOrdered, pointer);
  }

 private:
  bool captured_ = false;
  CUgraph graph_ = nullptr;
};

struct CreatePool : MemoryEvent {
  void After(Call* call, CUresult result, CUmemoryPool* pool,
             const CUmemPoolProps* properties) const;
};

// Removed from the table before the call: from then on the driver may return the same handle to
// another thread.
class DestroyPool : public MemoryEvent {
 public:
  void Before(Call* call, CUmemoryPool pool);
  void After(Call* call, CUresult result, CUmemoryPool pool);

 private:
  HandleTable::Entry import_;
  std::uint64_t before_ns_ = 0;
  std::int32_t device_ = -1;
  bool imported_ = false;
  bool known_ = false;
};

struct TrimPool : MemoryEvent {
  void After(Call* call, CUresult result, CUmemoryPool pool, std::size_t keep) const;
};

}  // namespace memprof::recorder
