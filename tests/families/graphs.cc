// Graphs with memory nodes, created one by one, by capture, and as child graphs.
#include "calls.h"
#include "families.h"

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

void Launch(CUgraphExec exec, CUstream stream) {
  MUST(PROC(cuGraphLaunch, "cuGraphLaunch", 10000)(exec, stream));
}

void Synchronize(CUstream stream) {
  MUST(PROC(cuStreamSynchronize, "cuStreamSynchronize", 2000)(stream));
}

void Destroy(CUgraph graph, CUgraphExec exec) {
  MUST(PROC(cuGraphExecDestroy, "cuGraphExecDestroy", 10000)(exec));
  MUST(PROC(cuGraphDestroy, "cuGraphDestroy", 10000)(graph));
}

void Trim() {
  MUST(PROC(cuDeviceGraphMemTrim, "cuDeviceGraphMemTrim", 11040)(0));
  Expect("pool_trim", "graph", 0, 0, 0, "cuDeviceGraphMemTrim");
}

CUstream g_stream = nullptr;
void UseStream() { g_stream = NewStream(); }

// One graph for each block: its launch allocates the memory, which stays until it is freed and
// trimmed.
Block Launched(CUgraph graph, CUdeviceptr block, std::uint64_t bytes, int line) {
  CUgraphExec exec = Ready(graph);
  Launch(exec, g_stream);
  ExpectAlloc(block, bytes, "cuGraphLaunch", line);
  Synchronize(g_stream);
  return {bytes, [=] {
            FreeAsync(block, bytes, "graph", g_stream);
            Synchronize(g_stream);
            Destroy(graph, exec);
          }};
}

Block TakeNode(std::uint64_t bytes) {
  CUgraph graph = NewGraph();
  CUgraphNode node = nullptr;
  CUDA_MEM_ALLOC_NODE_PARAMS params = Bytes(bytes);
  const auto add = PROC(cuGraphAddMemAllocNode, "cuGraphAddMemAllocNode", 11040);
  MUST(add(&node, graph, nullptr, 0, &params));
  return Launched(graph, params.dptr, bytes, g_line);
}

void BeginCapture(CUstream stream, CUstreamCaptureMode mode) {
  MUST(PROC(cuStreamBeginCapture_v2, "cuStreamBeginCapture", 10010)(stream, mode));
}

CUgraph EndCapture(CUstream stream) {
  CUgraph graph = nullptr;
  MUST(PROC(cuStreamEndCapture, "cuStreamEndCapture", 10000)(stream, &graph));
  return graph;
}

Block TakeCaptured(std::uint64_t bytes) {
  CUdeviceptr block = 0;
  BeginCapture(g_stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  MUST(PROC(cuMemAllocAsync, "cuMemAllocAsync", 11020)(&block, bytes, g_stream));
  const int line = g_line;
  return Launched(EndCapture(g_stream), block, bytes, line);
}

std::string Figures() {
  cuuint64_t reserved = 0, used = 0;
  CALL(cuDeviceGetGraphMemAttribute, 0, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &reserved);
  CALL(cuDeviceGetGraphMemAttribute, 0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &used);
  return "\"graph_reserved\":" + std::to_string(reserved) +
         ",\"graph_used\":" + std::to_string(used);
}

// One allocation that stays, one that the graph frees; both variants of the launch.
void Nodes() {
  const auto add = PROC(cuGraphAddMemAllocNode, "cuGraphAddMemAllocNode", 11040);
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
  Launch(exec, nullptr);
  ExpectAlloc(kept.dptr, 1000000, "cuGraphLaunch", kept_line);
  ExpectAlloc(passing.dptr, 2000000, "cuGraphLaunch", passing_line);
  Expect("free", "graph", 0, passing.dptr, 2000000, "cuGraphLaunch");
  FreeAsync(kept.dptr, 1000000, "graph");
  MUST(PROC_PER_THREAD(cuGraphLaunch, "cuGraphLaunch", 10000)(exec, nullptr));
  ExpectAlloc(kept.dptr, 1000000, "cuGraphLaunch_ptsz", kept_line);
  ExpectAlloc(passing.dptr, 2000000, "cuGraphLaunch_ptsz", passing_line);
  Expect("free", "graph", 0, passing.dptr, 2000000, "cuGraphLaunch_ptsz");
  MUST(PROC(cuCtxSynchronize, "cuCtxSynchronize", 2000)());
  Trim();
}

// Captured stream-ordered calls become nodes: nothing is allocated before the launch.
void Captured() {
  CUstream stream = NewStream();
  const auto allocate = PROC(cuMemAllocAsync, "cuMemAllocAsync", 11020);
  BeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
  CUdeviceptr passing = 0, kept = 0;
  MUST(allocate(&passing, 3000, stream));
  const int passing_line = g_line;
  MUST(allocate(&kept, 4000, stream));
  const int kept_line = g_line;
  MUST(PROC(cuMemFreeAsync, "cuMemFreeAsync", 11020)(passing, stream));
  CUgraph graph = EndCapture(stream);
  CUgraphExec exec = Ready(graph, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH);
  for (const bool again : {false, true}) {
    // The next launch frees what this launch left allocated.
    if (again) Expect("free", "graph", 0, kept, 4000, "cuGraphLaunch");
    Launch(exec, stream);
    ExpectAlloc(passing, 3000, "cuGraphLaunch", passing_line);
    ExpectAlloc(kept, 4000, "cuGraphLaunch", kept_line);
    Expect("free", "graph", 0, passing, 3000, "cuGraphLaunch");
  }
  Synchronize(stream);
  Free(kept, 4000, "graph");
  Destroy(graph, exec);
  Trim();
}

#if CUDA_VERSION >= 12090
// A graph with memory nodes is moved into another one; a graph without is copied.
void Children() {
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
  Launch(exec, nullptr);
  ExpectAlloc(alloc.alloc.dptr, 5000, "cuGraphLaunch", line);
  Expect("free", "graph", 0, alloc.alloc.dptr, 5000, "cuGraphLaunch");
  ExpectAlloc(kept.dptr, 6000, "cuGraphLaunch", kept_line);
  MUST(PROC(cuCtxSynchronize, "cuCtxSynchronize", 2000)());
}
#endif

constexpr Family kFamilies[] = {{"graph", TakeNode, UseStream, Trim, Figures},
                                {"graph-captured", TakeCaptured, UseStream, Trim, Figures}};
constexpr Scenario kScenarios[] = {{"nodes", Nodes},
#if CUDA_VERSION >= 12090
                                   {"children", Children},
#endif
                                   {"captured", Captured}};

}  // namespace

const Group kGraphs{kFamilies, kScenarios};
