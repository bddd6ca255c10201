// Changes of nodes in graphs and executables: parameters, enabled state, updates, edges, clones.
#include <vector>

#include "tests/simcuda/graph_fixture.h"

namespace memprof::simcuda {
namespace {

SIMCUDA_CONFIGURE("memory=1GiB,overhead=0");

// A graph that fills the values and doubles them once or twice.
struct MadeGraph {
  CUgraph graph = nullptr;
  CUgraphNode fill = nullptr;
  CUgraphNode kernel = nullptr;
};

class GraphUpdateTest : public GraphTest {
 protected:
  MadeGraph Make(unsigned value) {
    MadeGraph made;
    CUcontext context = nullptr;
    EXPECT_EQ(CUDA_SUCCESS, cuCtxGetCurrent(&context));
    EXPECT_EQ(CUDA_SUCCESS, cuGraphCreate(&made.graph, 0));
    const auto fill = Fill(value);
    EXPECT_EQ(CUDA_SUCCESS,
              cuGraphAddMemsetNode(&made.fill, made.graph, nullptr, 0, &fill, context));
    // out of scope when the graph runs: the node must have copied it
    CUdeviceptr argument = values_;
    void* arguments[] = {&argument};
    const auto kernel = Kernel(arguments);
    EXPECT_EQ(CUDA_SUCCESS, cuGraphAddKernelNode(&made.kernel, made.graph, &made.fill, 1, &kernel));
    argument = 0;
    return made;
  }
  unsigned RunOnce(CUgraphExec exec) {
    EXPECT_EQ(CUDA_SUCCESS, cuGraphLaunch(exec, stream_));
    EXPECT_EQ(CUDA_SUCCESS, cuStreamSynchronize(stream_));
    return First();
  }
};

TEST_F(GraphUpdateTest, ParametersAreThoseThatWereGiven) {
  const MadeGraph made = Make(3);
  CUDA_KERNEL_NODE_PARAMS kernel = {};
  CHECK_CU(cuGraphKernelNodeGetParams(made.kernel, &kernel));
  EXPECT_EQ(kernel.func, twice_);
  EXPECT_EQ(kernel.blockDimX, 8u);
  ASSERT_NE(kernel.kernelParams, nullptr);
  EXPECT_EQ(*static_cast<CUdeviceptr*>(kernel.kernelParams[0]), values_);
  CUDA_MEMSET_NODE_PARAMS fill = {};
  CHECK_CU(cuGraphMemsetNodeGetParams(made.fill, &fill));
  EXPECT_EQ(fill.value, 3u);
  EXPECT_EQ(fill.dst, values_);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGraphKernelNodeGetParams(made.fill, &kernel));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGraphMemsetNodeGetParams(made.fill, nullptr));
  CUDA_HOST_NODE_PARAMS host = {};
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGraphHostNodeGetParams(made.fill, &host));

  // Captured nodes have parameters too.
  CHECK_CU(cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_GLOBAL));
  CHECK_CU(LaunchTwice(stream_));
  CUgraph captured = nullptr;
  CHECK_CU(cuStreamEndCapture(stream_, &captured));
  CUgraphNode node = nullptr;
  size_t count = 1;
  CHECK_CU(cuGraphGetNodes(captured, &node, &count));
  CHECK_CU(cuGraphKernelNodeGetParams(node, &kernel));
  EXPECT_EQ(*static_cast<CUdeviceptr*>(kernel.kernelParams[0]), values_);
}

TEST_F(GraphUpdateTest, NodesChangeInTheGraphOrInTheExecutableAlone) {
  MadeGraph made = Make(3);
  CUgraphExec first = nullptr;
  CHECK_CU(cuGraphInstantiate(&first, made.graph, 0));
  auto fill = Fill(5);
  CHECK_CU(cuGraphMemsetNodeSetParams(made.fill, &fill));
  CUgraphExec second = nullptr;
  CHECK_CU(cuGraphInstantiate(&second, made.graph, 0));
  EXPECT_EQ(RunOnce(first), 6u);
  EXPECT_EQ(RunOnce(second), 10u);
  CUcontext context = nullptr;
  CHECK_CU(cuCtxGetCurrent(&context));
  fill = Fill(7);
  CHECK_CU(cuGraphExecMemsetNodeSetParams(first, made.fill, &fill, context));
  EXPECT_EQ(RunOnce(first), 14u);
  EXPECT_EQ(RunOnce(second), 10u);
  // The kernel now uses another address.
  CUdeviceptr other = 0;
  CHECK_CU(cuMemAlloc(&other, 32));
  void* arguments[] = {&other};
  const auto kernel = Kernel(arguments);
  CHECK_CU(cuGraphExecKernelNodeSetParams(first, made.kernel, &kernel));
  EXPECT_EQ(RunOnce(first), 7u);
  CHECK_CU(cuMemFree(other));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGraphExecKernelNodeSetParams(first, made.fill, &kernel));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
            cuGraphExecMemsetNodeSetParams(first, nullptr, &fill, context));
  fill.elementSize = 3;
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGraphMemsetNodeSetParams(made.fill, &fill));
}

TEST_F(GraphUpdateTest, NodesCanBeSwitchedOff) {
  const MadeGraph made = Make(3);
  CUgraphExec exec = nullptr;
  CHECK_CU(cuGraphInstantiate(&exec, made.graph, 0));
  CHECK_CU(cuGraphNodeSetEnabled(exec, made.kernel, 0));
  unsigned enabled = 1;
  CHECK_CU(cuGraphNodeGetEnabled(exec, made.kernel, &enabled));
  EXPECT_EQ(enabled, 0u);
  EXPECT_EQ(RunOnce(exec), 3u);
  CHECK_CU(cuGraphNodeSetEnabled(exec, made.kernel, 1));
  EXPECT_EQ(RunOnce(exec), 6u);
  CUgraphNode empty = nullptr;
  CHECK_CU(cuGraphAddEmptyNode(&empty, made.graph, nullptr, 0));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGraphNodeSetEnabled(exec, empty, 0));
}

TEST_F(GraphUpdateTest, ExecutablesTakeOnAnotherGraphOfTheSameShape) {
  const MadeGraph made = Make(3);
  const MadeGraph same = Make(11);
  CUgraphExec exec = nullptr;
  CHECK_CU(cuGraphInstantiate(&exec, made.graph, 0));
  CUgraphExecUpdateResultInfo info = {};
  CHECK_CU(cuGraphExecUpdate(exec, same.graph, &info));
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_SUCCESS);
  EXPECT_EQ(RunOnce(exec), 22u);
  // After the update, nodes are still identified by the original handles.
  CHECK_CU(cuGraphNodeSetEnabled(exec, made.kernel, 0));
  EXPECT_EQ(RunOnce(exec), 11u);

  CUgraphNode more = nullptr;
  CHECK_CU(cuGraphAddEmptyNode(&more, same.graph, nullptr, 0));
  EXPECT_EQ(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, cuGraphExecUpdate(exec, same.graph, &info));
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
  CUgraph other = nullptr;
  CHECK_CU(cuGraphCreate(&other, 0));
  CHECK_CU(cuGraphAddEmptyNode(&more, other, nullptr, 0));
  CHECK_CU(cuGraphAddEmptyNode(&more, other, &more, 1));
  EXPECT_EQ(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, cuGraphExecUpdate(exec, other, &info));
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED);
  EXPECT_EQ(RunOnce(exec), 11u);
}

TEST_F(GraphUpdateTest, EdgesGiveTheOrder) {
  CUgraph graph = nullptr;
  CHECK_CU(cuGraphCreate(&graph, 0));
  static std::vector<int> ran;
  ran.clear();
  CUgraphNode nodes[3];
  static int numbers[] = {0, 1, 2};
  for (int i = 0; i < 3; ++i) {
    const CUDA_HOST_NODE_PARAMS host = {
        [](void* number) { ran.push_back(*static_cast<int*>(number)); }, &numbers[i]};
    CHECK_CU(cuGraphAddHostNode(&nodes[i], graph, nullptr, 0, &host));
  }
  const CUgraphNode from[] = {nodes[2], nodes[1]};
  const CUgraphNode to[] = {nodes[1], nodes[0]};
  CHECK_CU(cuGraphAddDependencies_v2(graph, from, to, nullptr, 2));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
            cuGraphAddDependencies_v2(graph, &nodes[0], &nodes[2], nullptr, 1))
      << "a cycle";
  size_t count = 0;
  CHECK_CU(cuGraphGetEdges_v2(graph, nullptr, nullptr, nullptr, &count));
  EXPECT_EQ(count, 2u);
  CUgraphNode after = nullptr;
  count = 1;
  CHECK_CU(cuGraphNodeGetDependentNodes_v2(nodes[2], &after, nullptr, &count));
  EXPECT_EQ(after, nodes[1]);
  CUgraphExec exec = nullptr;
  CHECK_CU(cuGraphInstantiate(&exec, graph, 0));
  CHECK_CU(cuGraphLaunch(exec, stream_));
  CHECK_CU(cuStreamSynchronize(stream_));
  EXPECT_EQ(ran, (std::vector<int>{2, 1, 0}));
  CHECK_CU(cuGraphRemoveDependencies_v2(graph, from, to, nullptr, 2));
  CHECK_CU(cuGraphGetEdges_v2(graph, nullptr, nullptr, nullptr, &count));
  EXPECT_EQ(count, 0u);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGraphRemoveDependencies_v2(graph, from, to, nullptr, 1));
}

TEST_F(GraphUpdateTest, ClonesAndEventsAndKindsThatOneFunctionAdds) {
  const MadeGraph made = Make(3);
  CUgraph clone = nullptr;
  CHECK_CU(cuGraphClone(&clone, made.graph));
  CUgraphNode reference = nullptr;
  CHECK_CU(cuGraphNodeFindInClone(&reference, made.fill, clone));
  EXPECT_NE(reference, made.fill);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGraphNodeFindInClone(&reference, reference, clone));
  const auto fill = Fill(9);
  CHECK_CU(cuGraphMemsetNodeSetParams(reference, &fill));

  CUevent event = nullptr;
  CHECK_CU(cuEventCreate(&event, 0));
  CUgraphNodeParams record = {};
  record.type = CU_GRAPH_NODE_TYPE_EVENT_RECORD;
  record.eventRecord.event = event;
  CUgraphNode node = nullptr;
  CHECK_CU(cuGraphAddNode_v2(&node, clone, &reference, nullptr, 1, &record));
  CUgraphNode wait = nullptr;
  CHECK_CU(cuGraphAddEventWaitNode(&wait, clone, &node, 1, event));
  CUevent found = nullptr;
  CHECK_CU(cuGraphEventRecordNodeGetEvent(node, &found));
  EXPECT_EQ(found, event);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGraphEventWaitNodeGetEvent(node, &found));
  CUgraphExec exec = nullptr;
  CHECK_CU(cuGraphInstantiate(&exec, clone, 0));
  CHECK_CU(cuGraphLaunch(exec, stream_));
  CHECK_CU(cuEventSynchronize(event));
  EXPECT_EQ(CUDA_SUCCESS, cuEventQuery(event));
  EXPECT_EQ(First(), 18u);
  CHECK_CU(cuGraphLaunch(exec, stream_));  // waits for the event record of the first launch
  CHECK_CU(cuStreamSynchronize(stream_));
  CUgraphNodeParams unknown = {};
  unknown.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
  EXPECT_EQ(CUDA_ERROR_NOT_SUPPORTED,
            cuGraphAddNode_v2(&node, clone, nullptr, nullptr, 0, &unknown));
}

}  // namespace
}  // namespace memprof::simcuda
