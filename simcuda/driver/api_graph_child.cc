// Graphs within graphs, clones, and the one function that adds nodes of any kind.
#include "driver_api.h"
#include "simcuda/driver/context.h"
#include "simcuda/driver/graph.h"

namespace memprof::simcuda {
namespace {

// Puts `child`, which nothing else owns, into a node of the graph.
CUresult AddChild(CUgraphNode* node, CUgraph handle, const CUgraphNode* dependencies, size_t count,
                  std::shared_ptr<Graph> child) {
  const auto graph = AllHandles<Graph>().Find(handle);
  if (node == nullptr || graph == nullptr || (count != 0 && dependencies == nullptr) ||
      !graph->Has(dependencies, count)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  child->set_owned();
  AllHandles<Graph>().Add(child);
  *node = graph->Add(CU_GRAPH_NODE_TYPE_GRAPH, nullptr, {dependencies, dependencies + count},
                     nullptr, std::move(child));
  return CUDA_SUCCESS;
}

CUresult AddClone(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                  CUgraph child) {
  const auto original = AllHandles<Graph>().Find(child);
  if (original == nullptr || child == graph) return CUDA_ERROR_INVALID_VALUE;
  auto clone = original->Clone();
  if (clone == nullptr) return CUDA_ERROR_NOT_SUPPORTED;
  return AddChild(node, graph, dependencies, count, std::move(clone));
}

}  // namespace

namespace api {

CUresult cuGraphAddChildGraphNode(CUgraphNode* phGraphNode, CUgraph hGraph,
                                  const CUgraphNode* dependencies, size_t numDependencies,
                                  CUgraph childGraph) {
  return AddClone(phGraphNode, hGraph, dependencies, numDependencies, childGraph);
}

CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode hNode, CUgraph* phGraph) {
  std::shared_ptr<Graph> graph;
  const auto node = FindGraphNode(hNode, &graph);
  if (phGraph == nullptr || node == nullptr || node->child == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *phGraph = reinterpret_cast<CUgraph>(node->child.get());
  return CUDA_SUCCESS;
}

CUresult cuGraphClone(CUgraph* phGraphClone, CUgraph originalGraph) {
  const auto original = AllHandles<Graph>().Find(originalGraph);
  if (phGraphClone == nullptr || original == nullptr) return CUDA_ERROR_INVALID_VALUE;
  auto clone = original->Clone();
  if (clone == nullptr) return CUDA_ERROR_NOT_SUPPORTED;
  *phGraphClone = reinterpret_cast<CUgraph>(clone.get());
  AllHandles<Graph>().Add(std::move(clone));
  return CUDA_SUCCESS;
}

#if CUDA_VERSION >= 12030
CUresult cuGraphAddNode_v2(CUgraphNode* phGraphNode, CUgraph hGraph,
                           const CUgraphNode* dependencies, const CUgraphEdgeData* dependencyData,
                           size_t numDependencies, CUgraphNodeParams* nodeParams) {
  if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  // The order of the nodes keeps every dependency, whatever its data would loosen.
  static_cast<void>(dependencyData);
  switch (nodeParams->type) {
    case CU_GRAPH_NODE_TYPE_EMPTY:
      return api::cuGraphAddEmptyNode(phGraphNode, hGraph, dependencies, numDependencies);
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC: {
      CUDA_MEM_ALLOC_NODE_PARAMS alloc = {};
      alloc.poolProps = nodeParams->alloc.poolProps;
      alloc.accessDescs = nodeParams->alloc.accessDescs;
      alloc.accessDescCount = nodeParams->alloc.accessDescCount;
      alloc.bytesize = nodeParams->alloc.bytesize;
      const CUresult result =
          api::cuGraphAddMemAllocNode(phGraphNode, hGraph, dependencies, numDependencies, &alloc);
      if (result == CUDA_SUCCESS) nodeParams->alloc.dptr = alloc.dptr;
      return result;
    }
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
      return api::cuGraphAddMemFreeNode(phGraphNode, hGraph, dependencies, numDependencies,
                                        nodeParams->free.dptr);
    case CU_GRAPH_NODE_TYPE_GRAPH:
      break;
    default: {
      NodeParameters parameters;
      if (!ParametersFrom(*nodeParams, &parameters)) return CUDA_ERROR_NOT_SUPPORTED;
      return AddNode(phGraphNode, hGraph, dependencies, numDependencies, nodeParams->type,
                     std::move(parameters));
    }
  }
#if CUDA_VERSION >= 12090
  if (nodeParams->graph.ownership == CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE) {
    auto moved = AllHandles<Graph>().Find(nodeParams->graph.graph);
    if (moved == nullptr || moved->owned() || nodeParams->graph.graph == hGraph) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    return AddChild(phGraphNode, hGraph, dependencies, numDependencies, std::move(moved));
  }
#endif
  return AddClone(phGraphNode, hGraph, dependencies, numDependencies, nodeParams->graph.graph);
}

CUresult cuGraphAddNode(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                        size_t numDependencies, CUgraphNodeParams* nodeParams) {
  return api::cuGraphAddNode_v2(phGraphNode, hGraph, dependencies, nullptr, numDependencies,
                                nodeParams);
}
#endif

}  // namespace api
}  // namespace memprof::simcuda
