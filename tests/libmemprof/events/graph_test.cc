// Memory of graphs: what launches allocate and free, and what stays allocated after them.
#include "tests/libmemprof/events/graph_hooks.h"

namespace memprof::recorder {
namespace {

using ::testing::ElementsAre;
using testing::Event;
using ::testing::IsEmpty;
TEST_F(GraphHooks, ALaunchAllocatesWhatItsNodesAskFor) {
  Start();
  const CUgraph graph = Graph(0x61);
  const CUdeviceptr first = AddAlloc(graph, 100, 1), second = AddAlloc(graph, 200, 1);
  const CUgraphExec exec = Instantiate(graph);
  EXPECT_EQ(Stats().live_bytes, 0u) << "nothing is allocated yet";
  EXPECT_EQ(Launch(exec), CUDA_SUCCESS);
  EXPECT_EQ(Stats().live_bytes, 300u);
  const testing::Log log = Finish();
  const std::vector<Event> allocations = log.WithOp(log::OP_ALLOC);
  ASSERT_EQ(allocations.size(), 2u);
  EXPECT_EQ(allocations[0].address, first);
  EXPECT_EQ(allocations[1].address, second);
  EXPECT_EQ(allocations[0].layer, log::LAYER_GRAPH);
  EXPECT_EQ(allocations[0].device, 1) << "the node's device, not that of the launch";
  EXPECT_EQ(allocations[0].aux0, reinterpret_cast<std::uint64_t>(exec));
  EXPECT_EQ(log.strings.at(allocations[0].api), "cuGraphLaunch");
  if (kTestStacks) {
    EXPECT_NE(allocations[0].stack, 0u) << "the stack of the call that created the node";
    EXPECT_NE(allocations[0].stack, allocations[1].stack);
  }
  ASSERT_GE(log.WithOp(log::OP_POOL_SAMPLE).size(), 1u);
  const Event sample = log.WithOp(log::OP_POOL_SAMPLE)[0];
  EXPECT_EQ(sample.layer, log::LAYER_GRAPH);
  EXPECT_EQ(sample.address, 0u);
  EXPECT_EQ(sample.device, 1);
  EXPECT_EQ(sample.bytes, driver_.graph_reserved);
  EXPECT_EQ(sample.aux0, driver_.graph_used);
}

TEST_F(GraphHooks, AFreeNodeEndsMemoryOfTheSameLaunchAndOfAnotherGraph) {
  Start();
  const CUdeviceptr kept = AddAlloc(Graph(1), 100);
  const CUdeviceptr passing = AddAlloc(Graph(1), 50);
  AddFree(Graph(1), passing);
  AddFree(Graph(2), kept);
  const CUgraphExec makes = Instantiate(Graph(1)), frees = Instantiate(Graph(2));
  Launch(makes);
  EXPECT_EQ(Stats().live_bytes, 100u);
  EXPECT_EQ(Stats().peak_bytes, 150u);
  Launch(frees, "cuGraphLaunch_ptsz");
  EXPECT_EQ(Stats().live_bytes, 0u);
  EXPECT_THAT(Story(Finish()), ElementsAre("alloc 100", "alloc 50", "free 50", "free 100"));
}

TEST_F(GraphHooks, ALaunchWithAutoFreeEndsWhatTheOneBeforeLeft) {
  Start();
  AddAlloc(Graph(1), 100);
  const CUgraphExec exec = Instantiate(Graph(1));
  for (int i = 0; i < 2; ++i) Launch(exec);
  EXPECT_EQ(Stats().live_bytes, 100u);
  EXPECT_THAT(Story(Finish()), ElementsAre("alloc 100", "free 100", "alloc 100"));
}

TEST_F(GraphHooks, OutsideOfGraphsItIsFreedLikeAnyMemory) {
  Start();
  const CUdeviceptr first = AddAlloc(Graph(1), 100), second = AddAlloc(Graph(1), 200);
  const CUgraphExec exec = Instantiate(Graph(1));
  Launch(exec);
  Call("cuMemFree_v2", first);
  Call("cuMemFreeAsync", second, CUstream{});
  EXPECT_EQ(Stats().live_bytes, 0u);
  Launch(exec);
  EXPECT_EQ(Stats().live_bytes, 300u) << "and allocated again, once each";
  const testing::Log log = Finish();
  EXPECT_EQ(log.WithOp(log::OP_ALLOC).size(), 4u);
  EXPECT_EQ(log.WithOp(log::OP_FREE).size(), 2u);
  for (const Event& event : log.WithOp(log::OP_FREE)) EXPECT_EQ(event.layer, log::LAYER_GRAPH);
}

TEST_F(GraphHooks, DestroyingGraphsFreesNothing) {
  Start();
  AddAlloc(Graph(1), 100);
  const CUgraphExec exec = Instantiate(Graph(1));
  Call("cuGraphDestroy", Graph(1));
  Launch(exec);
  Call("cuGraphExecDestroy", exec);
  EXPECT_EQ(Stats().live_bytes, 100u);
  Launch(exec);  // the handle again, reused for a graph without memory
  const CUgraphExec next = Instantiate(Graph(1));
  Launch(next);
  EXPECT_EQ(Finish().WithOp(log::OP_ALLOC).size(), 1u);
}

TEST_F(GraphHooks, AnUploadTakesMemoryForTheLaunch) {
  Start();
  AddAlloc(Graph(1), 100);
  const CUgraphExec exec = Instantiate(Graph(1));
  Launch(exec, "cuGraphUpload");
  Launch(Instantiate(Graph(9)), "cuGraphUpload_ptsz");  // without memory
  EXPECT_EQ(Stats().live_bytes, 0u) << "only reserved";
  std::size_t samples = 0;
  for (const Event& event : Events()) samples += event.op == log::OP_POOL_SAMPLE ? 1 : 0;
  EXPECT_EQ(samples, 1u);
  Answer(CUDA_ERROR_OUT_OF_MEMORY);
  Launch(exec, "cuGraphUpload_ptsz");
  const testing::Log log = Finish();
  ASSERT_EQ(log.WithOp(log::OP_ALLOC_FAILED).size(), 1u);
  EXPECT_EQ(log.WithOp(log::OP_ALLOC_FAILED)[0].bytes, 100u);
  EXPECT_EQ(log.WithOp(log::OP_ALLOC_FAILED)[0].layer, log::LAYER_GRAPH);
}

TEST_F(GraphHooks, FailuresHaveTheRequestedBytes) {
  Start();
  AddAlloc(Graph(1), 100);
  AddAlloc(Graph(1), 20);
  const CUgraphExec exec = Instantiate(Graph(1));
  Answer(CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(Launch(exec), CUDA_ERROR_OUT_OF_MEMORY);
  CUDA_MEM_ALLOC_NODE_PARAMS params{};
  params.bytesize = 7;
  CUgraphNode node = nullptr;
  Call("cuGraphAddMemAllocNode", &node, Graph(1), Dependencies{}, std::size_t{0}, &params);
  Call("cuGraphAddMemFreeNode", &node, Graph(1), Dependencies{}, std::size_t{0}, CUdeviceptr{1});
  CUgraphExec other = nullptr;
  Call("cuGraphInstantiateWithFlags", &other, Graph(1), 0ull);
  Call("cuDeviceGraphMemTrim", 0);
  const testing::Log log = Finish();
  const std::vector<Event> failed = log.WithOp(log::OP_ALLOC_FAILED);
  ASSERT_EQ(failed.size(), 2u);
  EXPECT_EQ(failed[0].bytes, 120u);
  EXPECT_EQ(failed[0].aux0, driver_.free_bytes);
  EXPECT_EQ(failed[1].bytes, 7u);
  EXPECT_THAT(log.WithOp(log::OP_POOL_TRIM), IsEmpty());
}

TEST_F(GraphHooks, ATrimIsSeenWithWhatIsLeft) {
  Start();
  Call("cuDeviceGraphMemTrim", 1);
  const testing::Log log = Finish();
  ASSERT_EQ(log.WithOp(log::OP_POOL_TRIM).size(), 1u);
  EXPECT_EQ(log.WithOp(log::OP_POOL_TRIM)[0].layer, log::LAYER_GRAPH);
  EXPECT_EQ(log.WithOp(log::OP_POOL_TRIM)[0].device, 1);
  EXPECT_EQ(log.WithOp(log::OP_POOL_SAMPLE).size(), 1u);
}

TEST_F(GraphHooks, ItEndsWithItsDevicesPrimaryContext) {
  Start();
  CUcontext context = nullptr;
  Call("cuDevicePrimaryCtxRetain", &context, 0);
  AddAlloc(Graph(1), 100, 0);
  AddAlloc(Graph(1), 200, 1);
  const CUgraphExec exec = Instantiate(Graph(1));
  Launch(exec);
  driver_.primary_active = false;
  Call("cuDevicePrimaryCtxRelease_v2", 0);
  EXPECT_EQ(Stats().live_bytes, 200u) << "of the other device";
  Call("cuDevicePrimaryCtxReset_v2", 1);
  EXPECT_EQ(Stats().live_bytes, 0u);
  Launch(exec);
  EXPECT_EQ(Stats().live_bytes, 300u) << "no memory is assumed from before the reset";
  EXPECT_EQ(Finish().WithOp(log::OP_FREE).size(), 1u) << "the reset event implies the frees";
}

}  // namespace
}  // namespace memprof::recorder
