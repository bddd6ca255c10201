// Events of launches of graphs with memory nodes.
#include "libmemprof/src/events/graph.h"

#include "libmemprof/src/driver/pool_place.h"
#include "libmemprof/src/driver/stream_capture.h"
#include "libmemprof/src/events/memory_samples.h"

namespace memprof::recorder {
namespace {

constexpr int kMovesChild = 1;  // CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE

// The beginning of CUgraphNodeParams (CUDA 12.2), as far as memory nodes need it.
struct NodeParams {
  int type;
  int reserved[3];
  struct Child {
    CUgraph graph;
    int ownership;  // from CUDA 12.9 on; before, there was zero
  };
  union {
    CUDA_MEM_ALLOC_NODE_PARAMS alloc;
    CUdeviceptr free;
    Child child;
  };
};

}  // namespace

void RecordAllocNode(Call* call, CUresult result, CUgraph graph,
                     const CUDA_MEM_ALLOC_NODE_PARAMS* params) {
  if (params == nullptr) return;
  if (result != CUDA_SUCCESS) return call->Allocated(result, kLayerGraph, 0, params->bytesize);
  GraphLedger::Node node;
  node.address = params->dptr;
  node.bytes = params->bytesize;
  node.stack = call->Stack();
  node.device = LocationDevice(params->poolProps.location);
  if (node.device < 0) node.device = call->Context().device;
  call->driver()->graphs()->AddNode(Number(graph), node);
}

void RecordFreeNode(Call* call, CUresult result, CUgraph graph, CUdeviceptr address) {
  if (result != CUDA_SUCCESS) return;
  GraphLedger::Node node;
  node.address = address;
  node.frees = true;
  call->driver()->graphs()->AddNode(Number(graph), node);
}

void RecordNode(Call* call, CUresult result, CUgraph graph, const void* params) {
  const auto* node = static_cast<const NodeParams*>(params);
  if (node == nullptr) return;
  if (node->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
    RecordAllocNode(call, result, graph, &node->alloc);
  else if (node->type == CU_GRAPH_NODE_TYPE_MEM_FREE)
    RecordFreeNode(call, result, graph, node->free);
  else if (node->type == CU_GRAPH_NODE_TYPE_GRAPH && result == CUDA_SUCCESS)
    call->driver()->graphs()->AddChild(Number(graph), Number(node->child.graph),
                                       node->child.ownership == kMovesChild);
}

void UploadGraph::After(Call* call, CUresult result, CUgraphExec exec, CUstream stream) const {
  GraphLedger* graphs = call->driver()->graphs();
  if (!graphs->HasMemory(Number(exec))) return;
  std::int32_t device = -1;
  const std::uint64_t bytes = graphs->RequestedBytes(Number(exec), &device);
  if (result != CUDA_SUCCESS)
    call->Allocated(result, kLayerGraph, 0, bytes, Number(exec), 0, stream);
  else if (device >= 0)
    SampleGraphPool(call->slot(), device);
}

void LaunchGraph::After(Call* call, CUresult result, CUgraphExec exec, CUstream stream) const {
  if (before_ns_ == 0) return;
  GraphLedger* graphs = call->driver()->graphs();
  std::int32_t device = -1;
  if (result != CUDA_SUCCESS) {
    const std::uint64_t bytes = graphs->RequestedBytes(Number(exec), &device);
    if (bytes > 0) call->Allocated(result, kLayerGraph, 0, bytes, Number(exec), 0, stream);
    return;
  }
  // A launch into a stream that is being captured only makes a node of another graph.
  if (Capturing(call->id(), stream)) return;
  MappedArray<GraphLedger::Change> changes;
  graphs->Launch(Number(exec), &changes);
  const std::uint32_t context = call->Context().id;
  for (const GraphLedger::Change& change : changes) {
    ring::RingEvent event = call->Event(change.is_free ? kOpFree : kOpAlloc, kLayerGraph);
    if (change.before) event.time_ns = before_ns_;
    event.context = context;
    event.SetDevice(change.node.device);
    event.address = change.node.address;
    event.bytes = change.node.bytes;
    event.aux0 = Number(exec);
    event.stream = Number(stream);
    if (!change.is_free) event.stack = change.node.stack;
    call->Emit(&event);
    device = change.node.device;
  }
  if (device >= 0 && call->driver()->TimeForGraphSample(NowNs()))
    SampleGraphPool(call->slot(), device);
}

void TrimGraphMemory::After(Call* call, CUresult result, CUdevice device) const {
  if (result != CUDA_SUCCESS) return;
  ring::RingEvent event = call->Event(kOpPoolTrim, kLayerGraph);
  event.SetDevice(device);
  call->Emit(&event);
  SampleGraphPool(call->slot(), device);
}

}  // namespace memprof::recorder
