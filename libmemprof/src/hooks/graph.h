// Hooks of memory nodes of graphs. Making a node allocates nothing: its stack is kept, and the
// launches of the graph are the allocations and frees (GraphLedger).
#pragma once

#include "libmemprof/src/hooks/hooks.h"

namespace memprof::recorder {

// The beginning of CUgraphNodeParams (CUDA 12.2), as far as memory nodes need it.
struct GraphNodeParams {
  int type;
  int reserved[3];
  union {
    CUDA_MEM_ALLOC_NODE_PARAMS alloc;
    CUdeviceptr free;
    struct {
      CUgraph graph;
      int ownership;  // from CUDA 12.9 on; before, there was zero
    } child;
  };
};

// After a node was made, or could not be: CUgraph, parameters with the address filled in.
void RecordAllocNode(Hook* hook, CUresult result, CUgraph graph,
                     const CUDA_MEM_ALLOC_NODE_PARAMS* params);
void RecordFreeNode(Hook* hook, CUresult result, CUgraph graph, CUdeviceptr address);
void RecordNode(Hook* hook, CUresult result, CUgraph graph, const void* params);
// Before a launch takes its memory, where the driver is asked to do that early.
void RecordGraphUpload(Hook* hook, CUresult result, CUgraphExec exec, CUstream stream);
// Around a launch of a graph that has memory nodes.
void RecordGraphLaunch(Hook* hook, CUresult result, CUgraphExec exec, CUstream stream,
                       std::uint64_t before_ns);

template <typename Real>
CUresult AddAllocNode(FunctionId id, Real real, CUgraphNode* node, CUgraph graph,
                      const CUgraphNode* dependencies, std::size_t count,
                      CUDA_MEM_ALLOC_NODE_PARAMS* params) {
  Hook hook(id);
  const CUresult result = real(node, graph, dependencies, count, params);
  if (RecordsAllocations(hook)) RecordAllocNode(&hook, result, graph, params);
  return result;
}

template <typename Real>
CUresult AddFreeNode(FunctionId id, Real real, CUgraphNode* node, CUgraph graph,
                     const CUgraphNode* dependencies, std::size_t count, CUdeviceptr address) {
  Hook hook(id);
  const CUresult result = real(node, graph, dependencies, count, address);
  if (RecordsAllocations(hook)) RecordFreeNode(&hook, result, graph, address);
  return result;
}

template <typename Real>
CUresult AddNode(FunctionId id, Real real, CUgraphNode* node, CUgraph graph,
                 const CUgraphNode* dependencies, std::size_t count, void* params) {
  Hook hook(id);
  const CUresult result = real(node, graph, dependencies, count, params);
  if (RecordsAllocations(hook)) RecordNode(&hook, result, graph, params);
  return result;
}

template <typename Real>
CUresult AddNodeV2(FunctionId id, Real real, CUgraphNode* node, CUgraph graph,
                   const CUgraphNode* dependencies, const void* edges, std::size_t count,
                   void* params) {
  Hook hook(id);
  const CUresult result = real(node, graph, dependencies, edges, count, params);
  if (RecordsAllocations(hook)) RecordNode(&hook, result, graph, params);
  return result;
}

// The driver refuses graphs with memory nodes here and in cuGraphClone (CUDA 13.0): a copy of none.
template <typename Real>
CUresult AddChildGraph(FunctionId id, Real real, CUgraphNode* node, CUgraph graph,
                       const CUgraphNode* dependencies, std::size_t count, CUgraph child) {
  Hook hook(id);
  const CUresult result = real(node, graph, dependencies, count, child);
  if (RecordsAllocations(hook) && result == CUDA_SUCCESS)
    hook.driver()->graphs()->AddChild(reinterpret_cast<std::uint64_t>(graph),
                                      reinterpret_cast<std::uint64_t>(child), false);
  return result;
}

template <typename Real>
CUresult CloneGraph(FunctionId id, Real real, CUgraph* clone, CUgraph graph) {
  Hook hook(id);
  const CUresult result = real(clone, graph);
  if (RecordsAllocations(hook) && result == CUDA_SUCCESS)
    hook.driver()->graphs()->Clone(reinterpret_cast<std::uint64_t>(graph),
                                   reinterpret_cast<std::uint64_t>(*clone));
  return result;
}

template <typename Real, typename... Results>
CUresult UpdateExec(FunctionId id, Real real, CUgraphExec exec, CUgraph graph, Results... results) {
  Hook hook(id);
  const CUresult result = real(exec, graph, results...);
  if (RecordsAllocations(hook) && result == CUDA_SUCCESS)
    hook.driver()->graphs()->Instantiate(reinterpret_cast<std::uint64_t>(graph),
                                         reinterpret_cast<std::uint64_t>(exec));
  return result;
}

template <typename Real>
CUresult UploadGraph(FunctionId id, Real real, CUgraphExec exec, CUstream stream) {
  Hook hook(id);
  const CUresult result = real(exec, stream);
  if (RecordsAllocations(hook)) RecordGraphUpload(&hook, result, exec, stream);
  return result;
}

template <typename Real, typename... Options>
CUresult InstantiateGraph(FunctionId id, Real real, CUgraphExec* exec, CUgraph graph,
                          Options... options) {
  Hook hook(id);
  const CUresult result = real(exec, graph, options...);
  if (RecordsAllocations(hook) && result == CUDA_SUCCESS)
    hook.driver()->graphs()->Instantiate(reinterpret_cast<std::uint64_t>(graph),
                                         reinterpret_cast<std::uint64_t>(*exec));
  return result;
}

template <typename Real>
CUresult LaunchGraph(FunctionId id, Real real, CUgraphExec exec, CUstream stream) {
  Hook hook(id);
  const bool records = RecordsAllocations(hook) &&
                       hook.driver()->graphs()->HasMemory(reinterpret_cast<std::uint64_t>(exec));
  const std::uint64_t before_ns = records ? NowNs() : 0;
  const CUresult result = real(exec, stream);
  if (records) RecordGraphLaunch(&hook, result, exec, stream, before_ns);
  return result;
}

// What launches have left allocated stays so.
template <typename Real>
CUresult DestroyExec(FunctionId id, Real real, CUgraphExec exec) {
  Hook hook(id);
  if (RecordsAllocations(hook))
    hook.driver()->graphs()->DestroyExec(reinterpret_cast<std::uint64_t>(exec));
  return real(exec);
}

template <typename Real>
CUresult DestroyGraph(FunctionId id, Real real, CUgraph graph) {
  Hook hook(id);
  if (RecordsAllocations(hook))
    hook.driver()->graphs()->DestroyGraph(reinterpret_cast<std::uint64_t>(graph));
  return real(graph);
}

template <typename Real>
CUresult TrimGraphMemory(FunctionId id, Real real, CUdevice device) {
  Hook hook(id);
  const CUresult result = real(device);
  if (!RecordsAllocations(hook) || result != CUDA_SUCCESS) return result;
  ring::RingEvent event = hook.Event(kOpPoolTrim, kLayerGraph);
  event.SetDevice(device);
  hook.Emit(&event);
  SampleGraphPool(hook.slot(), device);
  return result;
}

}  // namespace memprof::recorder
