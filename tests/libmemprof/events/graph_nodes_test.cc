// How memory nodes get into a graph and an executable: captures, child graphs, copies, updates.
#include "tests/libmemprof/events/graph_hooks.h"

namespace memprof::recorder {
namespace {

using ::testing::ElementsAre;
using testing::Event;
TEST_F(GraphHooks, CapturedCallsBecomeNodes) {
  Start();
  driver_.capturing = true;
  CUdeviceptr pointer = 0;
  Call("cuMemAllocAsync", &pointer, std::size_t{100}, CUstream{});
  CUdeviceptr passing = 0;
  Call("cuMemAllocFromPoolAsync", &passing, std::size_t{10}, At(0xccc), CUstream{});
  Call("cuMemFreeAsync", passing, CUstream{});
  CUgraph graph = Graph(driver_.captured_graph);
  const CUgraphExec exec = Instantiate(graph);
  Launch(exec);  // captured, not run
  driver_.capturing = false;
  EXPECT_EQ(Stats().allocations, 0u);
  Launch(exec);
  EXPECT_EQ(Stats().live_bytes, 100u);
  EXPECT_THAT(Story(Finish()), ElementsAre("alloc 100", "alloc 10", "free 10"));
}

// Without a stream, half of the functions use the per-thread stream, which may be capturing.
TEST_F(GraphHooks, NoStreamMeansWhatTheFunctionMeansByIt) {
  Start();
  driver_.capturing = true;
  driver_.capturing_stream = CU_STREAM_PER_THREAD;
  CUdeviceptr pointer = 0;
  Call("cuMemAllocAsync_ptsz", &pointer, std::size_t{100}, CUstream{});
  EXPECT_EQ(Stats().allocations, 0u);
  driver_.capturing_stream = CU_STREAM_LEGACY;
  Call("cuMemAllocAsync_ptsz", &pointer, std::size_t{100}, CUstream{});
  EXPECT_EQ(Stats().allocations, 1u);
}

TEST_F(GraphHooks, NodesOfAnyKindMayBeAddedByOneFunction) {
  struct Params {
    int type;
    int reserved[3];
    CUDA_MEM_ALLOC_NODE_PARAMS alloc;
    std::uint64_t rest[32];
  } params{};
  Start();
  params.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC;
  params.alloc.bytesize = 100;
  params.alloc.dptr = 0x7000;
  CUgraphNode node = nullptr;
  Call("cuGraphAddNode", &node, Graph(1), Dependencies{}, std::size_t{0},
       static_cast<void*>(&params));
  params.alloc.dptr = 0x8000;
  Call("cuGraphAddNode_v2", &node, Graph(1), Dependencies{}, static_cast<const void*>(nullptr),
       std::size_t{0}, static_cast<void*>(&params));
  params.alloc.dptr = 0x9000;
  Call("cuGraphAddNode_v3", &node, Graph(1), Dependencies{}, static_cast<const void*>(nullptr),
       std::size_t{0}, static_cast<void*>(&params));
  params.type = CU_GRAPH_NODE_TYPE_MEM_FREE;
  const CUdeviceptr freed = 0x7000;
  std::memcpy(&params.alloc, &freed, sizeof freed);
  Call("cuGraphAddNode", &node, Graph(1), Dependencies{}, std::size_t{0},
       static_cast<void*>(&params));
  params.type = CU_GRAPH_NODE_TYPE_EMPTY;
  Call("cuGraphAddNode", &node, Graph(1), Dependencies{}, std::size_t{0},
       static_cast<void*>(&params));
  Launch(Instantiate(Graph(1)));
  EXPECT_THAT(Story(Finish()), ElementsAre("alloc 100", "alloc 100", "alloc 100", "free 100"));
}

TEST_F(GraphHooks, AChildThatWasMovedInAllocatesWithItsParent) {
  struct Params {
    int type = CU_GRAPH_NODE_TYPE_GRAPH;
    int reserved[3] = {};
    CUgraph graph = Graph(2);
    int ownership = 1;  // moved
    std::uint64_t rest[32] = {};
  } params;
  Start();
  const CUdeviceptr kept = AddAlloc(Graph(2), 200);
  CUgraphNode node = nullptr;
  Call("cuGraphAddNode_v2", &node, Graph(1), Dependencies{}, static_cast<const void*>(nullptr),
       std::size_t{0}, static_cast<void*>(&params));
  AddFree(Graph(1), kept);
  Answer(CUDA_ERROR_NOT_SUPPORTED);
  params.graph = Graph(1);
  Call("cuGraphAddNode_v2", &node, Graph(2), Dependencies{}, static_cast<const void*>(nullptr),
       std::size_t{0}, static_cast<void*>(&params));
  Call("cuGraphAddChildGraphNode", &node, Graph(3), Dependencies{}, std::size_t{0}, Graph(2));
  CUgraph clone = nullptr;
  Call("cuGraphClone", &clone, Graph(2));
  Answer(CUDA_SUCCESS);
  Launch(Instantiate(Graph(1)));
  Launch(Instantiate(Graph(3)));
  Call("cuGraphDestroy", Graph(1));
  Launch(Instantiate(Graph(2)));  // graph 2 ended with its parent; a new graph has the same handle
  EXPECT_THAT(Story(Finish()), ElementsAre("alloc 200", "free 200"));
}

// The driver of CUDA 13.0 refuses this; if another driver accepts it, these are the expected
// events.
TEST_F(GraphHooks, CopiesOfGraphsAllocateToo) {
  Start();
  AddAlloc(Graph(2), 200);
  CUgraphNode node = nullptr;
  Call("cuGraphAddChildGraphNode", &node, Graph(1), Dependencies{}, std::size_t{0}, Graph(2));
  CUgraph clone = nullptr;
  Call("cuGraphClone", &clone, Graph(2));
  Call("cuGraphDestroy", Graph(2));
  Launch(Instantiate(Graph(1)));
  Launch(Instantiate(clone));
  EXPECT_EQ(Finish().WithOp(log::OP_ALLOC).size(), 2u);
}

TEST_F(GraphHooks, AnUpdatedExecutableDoesWhatTheNewGraphSays) {
  Start();
  AddAlloc(Graph(1), 100);
  AddAlloc(Graph(2), 200);
  const CUgraphExec exec = Instantiate(Graph(1));
  const auto none = static_cast<void*>(nullptr);
  Answer(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  Call("cuGraphExecUpdate_v2", exec, Graph(2), none);
  Answer(CUDA_SUCCESS);
  Launch(exec);
  Call("cuGraphExecUpdate_v2", exec, Graph(2), none);
  Launch(exec);
  Call("cuGraphExecUpdate", exec, Graph(1), static_cast<CUgraphNode*>(nullptr), none);
  Launch(exec);
  EXPECT_THAT(Story(Finish()), ElementsAre("alloc 100", "alloc 200", "free 100", "alloc 100"));
}

TEST_F(GraphHooks, EveryWayToInstantiate) {
  Start();
  AddAlloc(Graph(1), 100);
  for (const char* name : {"cuGraphInstantiate", "cuGraphInstantiate_v2"}) {
    CUgraphExec exec = nullptr;
    Call(name, &exec, Graph(1), static_cast<CUgraphNode*>(nullptr), static_cast<char*>(nullptr),
         std::size_t{0});
    Launch(exec);
  }
  for (const char* name : {"cuGraphInstantiateWithParams", "cuGraphInstantiateWithParams_ptsz"}) {
    CUgraphExec exec = nullptr;
    Call(name, &exec, Graph(1), static_cast<void*>(nullptr));
    Launch(exec);
  }
  EXPECT_EQ(Finish().WithOp(log::OP_ALLOC).size(), 4u);
}

}  // namespace
}  // namespace memprof::recorder
