// The part of a walk with graphs and child graphs.
#include "driver_walk.h"

namespace memprof::testing {

// Sometimes makes the graph a child node of another graph, which replaces it.
bool DriverWalk::MoveIntoAnother(CUgraph* graph) {
#if CUDA_VERSION >= 12090
  if (Random(2) == 0) return true;
  CUgraph parent = nullptr;
  CUgraphNode node = nullptr;
  CUgraphNodeParams moved{};
  moved.type = CU_GRAPH_NODE_TYPE_GRAPH;
  moved.graph.graph = *graph;
  moved.graph.ownership = CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE;
  using AddNode = CUresult(CUgraphNode*, CUgraph, const CUgraphNode*, const CUgraphEdgeData*,
                           size_t, CUgraphNodeParams*);
  if (Find<CUresult(CUgraph*, unsigned)>("cuGraphCreate")(&parent, 0) != CUDA_SUCCESS ||
      Find<AddNode>("cuGraphAddNode_v2")(&node, parent, nullptr, nullptr, 0, &moved) !=
          CUDA_SUCCESS)
    return false;
  *graph = parent;
#endif
  return *graph != nullptr;
}

// A graph with two allocations, one of which is freed within the launch. Graph and executable are
// destroyed before the other one is freed.
bool DriverWalk::LaunchGraph() {
  CUgraph graph = nullptr;
  CUgraphNode nodes[3] = {};
  CUgraphExec exec = nullptr;
  CUDA_MEM_ALLOC_NODE_PARAMS kept{}, passing{};
  for (CUDA_MEM_ALLOC_NODE_PARAMS* params : {&kept, &passing}) {
    params->poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    params->poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
    params->bytesize = 1 + Random(200000);
  }
  using AddAlloc =
      CUresult(CUgraphNode*, CUgraph, const CUgraphNode*, size_t, CUDA_MEM_ALLOC_NODE_PARAMS*);
  using AddFree = CUresult(CUgraphNode*, CUgraph, const CUgraphNode*, size_t, CUdeviceptr);
  const auto add = Find<AddAlloc>("cuGraphAddMemAllocNode");
  if (Find<CUresult(CUgraph*, unsigned)>("cuGraphCreate")(&graph, 0) != CUDA_SUCCESS ||
      add(&nodes[0], graph, nullptr, 0, &kept) != CUDA_SUCCESS ||
      add(&nodes[1], graph, nodes, 1, &passing) != CUDA_SUCCESS ||
      Find<AddFree>("cuGraphAddMemFreeNode")(&nodes[2], graph, nodes + 1, 1, passing.dptr) !=
          CUDA_SUCCESS ||
      !MoveIntoAnother(&graph) ||
      Find<CUresult(CUgraphExec*, CUgraph, unsigned long long)>("cuGraphInstantiateWithFlags")(
          &exec, graph, 0) != CUDA_SUCCESS)
    return false;
  const char* launch = Random(2) == 0 ? "cuGraphLaunch" : "cuGraphLaunch_ptsz";
  if (Find<CUresult(CUgraphExec, CUstream)>(launch)(exec, nullptr) != CUDA_SUCCESS) return false;
  if (!Began({"graph",
              kept.dptr,
              kept.bytesize,
              {"cuMemFree_v2", "cuMemFreeAsync", "cuMemFreeAsync_ptsz"}}))
    return false;
  Note("alloc", "graph", passing.dptr, passing.bytesize);
  totals_.live_bytes -= passing.bytesize;
  Note("free", "graph", passing.dptr, passing.bytesize);
  return Find<CUresult(CUgraphExec)>("cuGraphExecDestroy")(exec) == CUDA_SUCCESS &&
         Find<CUresult(CUgraph)>("cuGraphDestroy")(graph) == CUDA_SUCCESS;
}

}  // namespace memprof::testing
