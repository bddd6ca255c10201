// Events of launches of graphs with memory nodes.
#include "libmemprof/src/hooks/graph.h"

namespace memprof::recorder {
namespace {

constexpr int kMovesChild = 1;  // CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE

}  // namespace

void RecordAllocNode(Hook* hook, CUresult result, CUgraph graph,
                     const CUDA_MEM_ALLOC_NODE_PARAMS* params) {
  if (params == nullptr) return;
  if (result != CUDA_SUCCESS) {
    hook->Allocated(result, kLayerGraph, 0, params->bytesize);
    return;
  }
  GraphLedger::Node node;
  node.address = params->dptr;
  node.bytes = params->bytesize;
  node.stack = hook->Stack();
  const CUmemLocation& place = params->poolProps.location;
  node.device = place.type == CU_MEM_LOCATION_TYPE_DEVICE ? place.id : hook->Context().device;
  hook->driver()->graphs()->AddNode(reinterpret_cast<std::uint64_t>(graph), node);
}

void RecordFreeNode(Hook* hook, CUresult result, CUgraph graph, CUdeviceptr address) {
  if (result != CUDA_SUCCESS) return;
  GraphLedger::Node node;
  node.address = address;
  node.frees = true;
  hook->driver()->graphs()->AddNode(reinterpret_cast<std::uint64_t>(graph), node);
}

void RecordNode(Hook* hook, CUresult result, CUgraph graph, const void* params) {
  const auto* node = static_cast<const GraphNodeParams*>(params);
  if (node == nullptr) return;
  if (node->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
    RecordAllocNode(hook, result, graph, &node->alloc);
  else if (node->type == CU_GRAPH_NODE_TYPE_MEM_FREE)
    RecordFreeNode(hook, result, graph, node->free);
  else if (node->type == CU_GRAPH_NODE_TYPE_GRAPH && result == CUDA_SUCCESS)
    hook->driver()->graphs()->AddChild(reinterpret_cast<std::uint64_t>(graph),
                                       reinterpret_cast<std::uint64_t>(node->child.graph),
                                       node->child.ownership == kMovesChild);
}

void RecordGraphUpload(Hook* hook, CUresult result, CUgraphExec exec, CUstream stream) {
  const auto handle = reinterpret_cast<std::uint64_t>(exec);
  if (!hook->driver()->graphs()->HasMemory(handle)) return;
  std::int32_t device = -1;
  const std::uint64_t bytes = hook->driver()->graphs()->AskedFor(handle, &device);
  if (result != CUDA_SUCCESS)
    hook->Allocated(result, kLayerGraph, 0, bytes, handle, 0, stream);
  else if (device >= 0)
    SampleGraphPool(hook->slot(), device);
}

void RecordGraphLaunch(Hook* hook, CUresult result, CUgraphExec exec, CUstream stream,
                       std::uint64_t before_ns) {
  const auto handle = reinterpret_cast<std::uint64_t>(exec);
  GraphLedger* graphs = hook->driver()->graphs();
  std::int32_t device = -1;
  if (result != CUDA_SUCCESS) {
    const std::uint64_t bytes = graphs->AskedFor(handle, &device);
    if (bytes > 0) hook->Allocated(result, kLayerGraph, 0, bytes, handle, 0, stream);
    return;
  }
  // A launch into a stream that is being captured only becomes a node of another graph.
  CUgraph captured = nullptr;
  if (Capturing(hook->id(), stream, &captured)) return;
  MappedArray<GraphLedger::Change> changes;
  graphs->Launch(handle, &changes);
  const std::uint32_t context = hook->Context().id;
  for (const GraphLedger::Change& change : changes) {
    ring::RingEvent event = hook->Event(change.is_free ? kOpFree : kOpAlloc, kLayerGraph);
    if (change.before) event.time_ns = before_ns;
    event.context = context;
    event.SetDevice(change.node.device);
    event.address = change.node.address;
    event.bytes = change.node.bytes;
    event.aux0 = handle;
    event.stream = reinterpret_cast<std::uint64_t>(stream);
    if (!change.is_free) event.stack = change.node.stack;
    hook->Emit(&event);
    device = change.node.device;
  }
  if (device >= 0 && hook->driver()->TimeForGraphSample(NowNs()))
    SampleGraphPool(hook->slot(), device);
}

}  // namespace memprof::recorder
