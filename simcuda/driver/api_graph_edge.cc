// The dependencies in a graph.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "driver_api.h"
#include "simcuda/driver/context.h"
#include "simcuda/driver/graph.h"

namespace memprof::simcuda {
namespace {

CUresult Edges(CUgraph handle, CUgraphNode* from, CUgraphNode* to, size_t* count) {
  const auto graph = AllHandles<Graph>().Find(handle);
  if (graph == nullptr || (from == nullptr) != (to == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  std::vector<CUgraphNode> firsts;
  std::vector<CUgraphNode> lasts;
  for (const auto& node : graph->nodes()) {
    for (const CUgraphNode before : graph->DependenciesOf(*node)) {
      firsts.push_back(before);
      lasts.push_back(HandleOf(node));
    }
  }
  size_t room = count == nullptr ? 0 : *count;
  const CUresult result = CopyOut(firsts, from, count);
  return result != CUDA_SUCCESS || to == nullptr ? result : CopyOut(lasts, to, &room);
}

CUresult ChangeEdges(CUgraph handle, const CUgraphNode* from, const CUgraphNode* to, size_t count,
                     bool add) {
  const auto graph = AllHandles<Graph>().Find(handle);
  if (graph == nullptr || (count != 0 && (from == nullptr || to == nullptr)) ||
      !graph->Has(from, count) || !graph->Has(to, count)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (graph->has_memory() && !add) return CUDA_ERROR_NOT_SUPPORTED;
  for (size_t i = 0; i < count; ++i) {
    const bool changed = add ? graph->AddEdge(from[i], to[i]) : graph->RemoveEdge(from[i], to[i]);
    if (!changed) return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

const char* NameOf(CUgraphNodeType type) {
  switch (type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      return "KERNEL";
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      return "MEMCPY";
    case CU_GRAPH_NODE_TYPE_MEMSET:
      return "MEMSET";
    case CU_GRAPH_NODE_TYPE_HOST:
      return "HOST";
    case CU_GRAPH_NODE_TYPE_GRAPH:
      return "GRAPH";
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
      return "MEM_ALLOC";
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
      return "MEM_FREE";
    default:
      return "NODE";
  }
}

// The edges of the stand-in have no data.
template <class Data>
void ClearData(Data* data, const CUgraphNode* nodes, const size_t* count) {
  if (data != nullptr && nodes != nullptr && count != nullptr) {
    std::memset(static_cast<void*>(data), 0, *count * sizeof(*data));
  }
}

}  // namespace

CUresult CopyOut(const std::vector<CUgraphNode>& all, CUgraphNode* nodes, size_t* count) {
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; nodes != nullptr && i < *count; ++i) {
    nodes[i] = i < all.size() ? all[i] : nullptr;
  }
  *count = nodes == nullptr ? all.size() : std::min(*count, all.size());
  return CUDA_SUCCESS;
}

namespace api {

CUresult cuGraphNodeGetDependencies(CUgraphNode hNode, CUgraphNode* dependencies,
                                    size_t* numDependencies) {
  std::shared_ptr<Graph> graph;
  const auto node = FindGraphNode(hNode, &graph);
  if (node == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return CopyOut(graph->DependenciesOf(*node), dependencies, numDependencies);
}

CUresult cuGraphNodeGetDependentNodes(CUgraphNode hNode, CUgraphNode* dependentNodes,
                                      size_t* numDependentNodes) {
  std::shared_ptr<Graph> graph;
  if (FindGraphNode(hNode, &graph) == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::vector<CUgraphNode> after;
  for (const auto& node : graph->nodes()) {
    const auto before = graph->DependenciesOf(*node);
    if (std::find(before.begin(), before.end(), hNode) != before.end()) {
      after.push_back(HandleOf(node));
    }
  }
  return CopyOut(after, dependentNodes, numDependentNodes);
}

CUresult cuGraphGetEdges(CUgraph hGraph, CUgraphNode* from, CUgraphNode* to, size_t* numEdges) {
  return Edges(hGraph, from, to, numEdges);
}

CUresult cuGraphAddDependencies(CUgraph hGraph, const CUgraphNode* from, const CUgraphNode* to,
                                size_t numDependencies) {
  return ChangeEdges(hGraph, from, to, numDependencies, true);
}

CUresult cuGraphRemoveDependencies(CUgraph hGraph, const CUgraphNode* from, const CUgraphNode* to,
                                   size_t numDependencies) {
  return ChangeEdges(hGraph, from, to, numDependencies, false);
}

#if CUDA_VERSION >= 12030
CUresult cuGraphNodeGetDependencies_v2(CUgraphNode hNode, CUgraphNode* dependencies,
                                       CUgraphEdgeData* edgeData, size_t* numDependencies) {
  const CUresult result = api::cuGraphNodeGetDependencies(hNode, dependencies, numDependencies);
  if (result == CUDA_SUCCESS) ClearData(edgeData, dependencies, numDependencies);
  return result;
}

CUresult cuGraphNodeGetDependentNodes_v2(CUgraphNode hNode, CUgraphNode* dependentNodes,
                                         CUgraphEdgeData* edgeData, size_t* numDependentNodes) {
  const CUresult result =
      api::cuGraphNodeGetDependentNodes(hNode, dependentNodes, numDependentNodes);
  if (result == CUDA_SUCCESS) ClearData(edgeData, dependentNodes, numDependentNodes);
  return result;
}

CUresult cuGraphGetEdges_v2(CUgraph hGraph, CUgraphNode* from, CUgraphNode* to,
                            CUgraphEdgeData* edgeData, size_t* numEdges) {
  const CUresult result = Edges(hGraph, from, to, numEdges);
  if (result == CUDA_SUCCESS) ClearData(edgeData, from, numEdges);
  return result;
}

CUresult cuGraphAddDependencies_v2(CUgraph hGraph, const CUgraphNode* from, const CUgraphNode* to,
                                   const CUgraphEdgeData* /*edgeData*/, size_t numDependencies) {
  return ChangeEdges(hGraph, from, to, numDependencies, true);
}

CUresult cuGraphRemoveDependencies_v2(CUgraph hGraph, const CUgraphNode* from,
                                      const CUgraphNode* to, const CUgraphEdgeData* /*edgeData*/,
                                      size_t numDependencies) {
  return ChangeEdges(hGraph, from, to, numDependencies, false);
}
#endif

CUresult cuGraphDebugDotPrint(CUgraph hGraph, const char* path, unsigned int /*flags*/) {
  const auto graph = AllHandles<Graph>().Find(hGraph);
  if (graph == nullptr || path == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::FILE* file = std::fopen(path, "w");
  if (file == nullptr) return CUDA_ERROR_OPERATING_SYSTEM;
  std::fputs("digraph dot {\n", file);
  for (const auto& node : graph->nodes()) {
    std::fprintf(file, "  \"%p\" [label=\"%s\"];\n", static_cast<void*>(node.get()),
                 NameOf(node->type));
    for (const CUgraphNode before : graph->DependenciesOf(*node)) {
      std::fprintf(file, "  \"%p\" -> \"%p\";\n", static_cast<void*>(before),
                   static_cast<void*>(node.get()));
    }
  }
  std::fputs("}\n", file);
  return std::fclose(file) == 0 ? CUDA_SUCCESS : CUDA_ERROR_OPERATING_SYSTEM;
}

}  // namespace api
}  // namespace memprof::simcuda
