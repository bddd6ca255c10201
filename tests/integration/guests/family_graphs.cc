// A guest of graphs with memory nodes, created one by one, by capture, and as child graphs.
#include "by_name.h"

namespace {

CUDA_MEM_ALLOC_NODE_PARAMS Bytes(std::size_t bytes) {
  CUDA_MEM_ALLOC_NODE_PARAMS params{};
  params.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  params.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
  params.bytesize = bytes;
  return params;
}

// The allocation of a launch has the line of the call that created its node.
void ExpectAlloc(CUdeviceptr address, std::size_t bytes, const char* launch, int node_line) {
  g_line = node_line;
  Expect("alloc", "graph", 0, address, bytes, launch);
}

CUgraph NewGraph() {
  CUgraph graph = nullptr;
  MUST(PROC(cuGraphCreate, "cuGraphCreate", 10000)(&graph, 0));
  return graph;
}

CUgraphExec Ready(CUgraph graph, unsigned long long flags = 0) {
  CUgraphExec exec = nullptr;
  const auto instantiate = PROC(cuGraphInstantiateWithFlags, "cuGraphInstantiateWithFlags", 11040);
  MUST(instantiate(&exec, graph, flags));
  return exec;
}

// One allocation that stays, one that the graph frees; both variants of the launch.
void Nodes() {
  UsePrimary();
  const auto add = PROC(cuGraphAddMemAllocNode, "cuGraphAddMemAllocNode", 11040);
  const auto launch = PROC(cuGraphLaunch, "cuGraphLaunch", 10000);
  CUgraph graph = NewGraph();
  CUgraphNode nodes[3] = {};
  CUDA_MEM_ALLOC_NODE_PARAMS kept = Bytes(1000000), passing = Bytes(2000000);
  MUST(add(&nodes[0], graph, nullptr, 0, &kept));
  const int kept_line = g_line;
  MUST(add(&nodes[1], graph, nodes, 1, &passing));
  const int passing_line = g_line;
  const auto add_free = PROC(cuGraphAddMemFreeNode, "cuGraphAddMemFreeNode", 11040);
  MUST(add_free(&nodes[2], graph, nodes + 1, 1, passing.dptr));
  CUgraphExec exec = Ready(graph);
  MUST(launch(exec, nullptr));
  ExpectAlloc(kept.dptr, 1000000, "cuGraphLaunch", kept_line);
  ExpectAlloc(passing.dptr, 2000000, "cuGraphLaunch", passing_line);
  Expect("free", "graph", 0, passing.dptr, 2000000, "cuGraphLaunch");
  Expect("free", "graph", 0, kept.dptr, 1000000, "cuMemFreeAsync");
  MUST(PROC(cuMemFreeAsync, "cuMemFreeAsync", 11020)(kept.dptr, nullptr));
  MUST(PROC_PER_THREAD(cuGraphLaunch, "cuGraphLaunch", 10000)(exec, nullptr));
  ExpectAlloc(kept.dptr, 1000000, "cuGraphLaunch_ptsz", kept_line);
  ExpectAlloc(passing.dptr, 2000000, "cuGraphLaunch_ptsz", passing_line);
  Expect("free", "graph", 0, passing.dptr, 2000000, "cuGraphLaunch_ptsz");
  MUST(PROC(cuCtxSynchronize, "cuCtxSynchronize", 2000)());
  MUST(PROC(cuDeviceGraphMemTrim, "cuDeviceGraphMemTrim", 11040)(0));
  Expect("pool_trim", "graph", 0, 0, 0, "cuDeviceGraphMemTrim");
  AskForTooMuch();
}

// Captured stream-ordered calls become nodes: nothing is allocated before the launch.
void Captured() {
  UsePrimary();
  CUstream stream = nullptr;
  MUST(PROC(cuStreamCreate, "cuStreamCreate", 2000)(&stream, CU_STREAM_NON_BLOCKING));
  const auto allocate = PROC(cuMemAllocAsync, "cuMemAllocAsync", 11020);
  MUST(PROC(cuStreamBeginCapture_v2, "cuStreamBeginCapture", 10010)(stream,
                                                                    CU_STREAM_CAPTURE_MODE_GLOBAL));
  CUdeviceptr passing = 0, kept = 0;
  MUST(allocate(&passing, 3000, stream));
  const int passing_line = g_line;
  MUST(allocate(&kept, 4000, stream));
  const int kept_line = g_line;
  MUST(PROC(cuMemFreeAsync, "cuMemFreeAsync", 11020)(passing, stream));
  CUgraph graph = nullptr;
  MUST(PROC(cuStreamEndCapture, "cuStreamEndCapture", 10000)(stream, &graph));
  CUgraphExec exec = Ready(graph, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH);
  const auto launch = PROC(cuGraphLaunch, "cuGraphLaunch", 10000);
  MUST(launch(exec, stream));
  ExpectAlloc(passing, 3000, "cuGraphLaunch", passing_line);
  ExpectAlloc(kept, 4000, "cuGraphLaunch", kept_line);
  Expect("free", "graph", 0, passing, 3000, "cuGraphLaunch");
  // The next launch frees what this launch left allocated.
  Expect("free", "graph", 0, kept, 4000, "cuGraphLaunch");
  MUST(launch(exec, stream));
  ExpectAlloc(passing, 3000, "cuGraphLaunch", passing_line);
  ExpectAlloc(kept, 4000, "cuGraphLaunch", kept_line);
  Expect("free", "graph", 0, passing, 3000, "cuGraphLaunch");
  MUST(PROC(cuStreamSynchronize, "cuStreamSynchronize", 2000)(stream));
  Expect("free", "graph", 0, kept, 4000, "cuMemFree_v2");
  MUST(PROC(cuMemFree_v2, "cuMemFree", 3020)(kept));
  MUST(PROC(cuGraphExecDestroy, "cuGraphExecDestroy", 10000)(exec));
  MUST(PROC(cuGraphDestroy, "cuGraphDestroy", 10000)(graph));
  MUST(PROC(cuDeviceGraphMemTrim, "cuDeviceGraphMemTrim", 11040)(0));
  Expect("pool_trim", "graph", 0, 0, 0, "cuDeviceGraphMemTrim");
  AskForTooMuch();
}

#if CUDA_VERSION >= 12090
// A graph with memory nodes is moved into another one; a graph without is copied.
void Children() {
  UsePrimary();
  const auto add = PROC(cuGraphAddNode_v2, "cuGraphAddNode", 12030);
  CUgraph parent = NewGraph(), child = NewGraph(), plain = NewGraph(), clone = nullptr;
  CUgraphNode nodes[4] = {};
  CUgraphNodeParams alloc{};
  alloc.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC;
  alloc.alloc.poolProps = Bytes(0).poolProps;
  alloc.alloc.bytesize = 5000;
  MUST(add(&nodes[0], child, nullptr, nullptr, 0, &alloc));
  const int line = g_line;
  CUgraphNodeParams free{};
  free.type = CU_GRAPH_NODE_TYPE_MEM_FREE;
  free.free.dptr = alloc.alloc.dptr;
  MUST(add(&nodes[1], child, nodes, nullptr, 1, &free));
  MUST_FAIL(CUDA_ERROR_NOT_SUPPORTED, PROC(cuGraphClone, "cuGraphClone", 10000)(&clone, child));
  const auto copy = PROC(cuGraphAddChildGraphNode, "cuGraphAddChildGraphNode", 10000);
  MUST_FAIL(CUDA_ERROR_NOT_SUPPORTED, copy(&nodes[2], parent, nullptr, 0, child));
  MUST(copy(&nodes[2], parent, nullptr, 0, plain));
  CUgraphNodeParams moved{};
  moved.type = CU_GRAPH_NODE_TYPE_GRAPH;
  moved.graph.graph = child;
  moved.graph.ownership = CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE;
  MUST(add(&nodes[3], parent, nodes + 2, nullptr, 1, &moved));
  CUDA_MEM_ALLOC_NODE_PARAMS kept = Bytes(6000);
  MUST(SYMBOL(cuGraphAddMemAllocNode)(&nodes[1], parent, nodes + 3, 1, &kept));
  const int kept_line = g_line;
  CUgraphExec exec = Ready(parent);
  MUST(PROC(cuGraphClone, "cuGraphClone", 10000)(&clone, plain));
  MUST(PROC(cuGraphLaunch, "cuGraphLaunch", 10000)(exec, nullptr));
  ExpectAlloc(alloc.alloc.dptr, 5000, "cuGraphLaunch", line);
  Expect("free", "graph", 0, alloc.alloc.dptr, 5000, "cuGraphLaunch");
  ExpectAlloc(kept.dptr, 6000, "cuGraphLaunch", kept_line);
  MUST(PROC(cuCtxSynchronize, "cuCtxSynchronize", 2000)());
  AskForTooMuch();
}
#else
void Children() {}
#endif

constexpr Scenario kScenarios[] = {
    {"nodes", Nodes}, {"captured", Captured}, {"children", Children}};

}  // namespace

int main(int argc, char** argv) { return RunScenario(kScenarios, argc, argv); }
