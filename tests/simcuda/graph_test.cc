// Stream capture and graphs.
#include <string>
#include <vector>

#include "driver_fixture.h"

extern "C" int simcuda_set_host_kernel(CUfunction function, simcuda_host_kernel host, int args,
                                       const size_t* sizes);

namespace memprof::simcuda {
namespace {

const Configure kConfigure("memory=1GiB,overhead=0");

constexpr char kPtx[] = ".version 8.0\n.target sm_90\n.entry twice(.param .u64 p) { ret; }\n";

// Doubles eight numbers.
void Twice(const simcuda_launch* launch) {
  auto* values = *static_cast<unsigned**>(launch->args[0]);
  for (int i = 0; i < 8; ++i) values[i] *= 2;
}

class GraphTest : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    CUmodule module = nullptr;
    CHECK_CU(cuModuleLoadData(&module, kPtx));
    CHECK_CU(cuModuleGetFunction(&twice_, module, "twice"));
    const size_t sizes[] = {8};
    ASSERT_EQ(0, simcuda_set_host_kernel(twice_, &Twice, 1, sizes));
    CHECK_CU(cuMemAlloc(&values_, 32));
    CHECK_CU(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
    CHECK_CU(cuStreamCreate(&other_, CU_STREAM_NON_BLOCKING));
  }
  void TearDown() override {
    CHECK_CU(cuMemFree(values_));
    DriverTest::TearDown();
  }
  CUresult LaunchTwice(CUstream stream) {
    void* params[] = {&values_};
    return cuLaunchKernel(twice_, 1, 1, 1, 8, 1, 1, 0, stream, params, nullptr);
  }
  unsigned First() {
    unsigned value = 0;
    EXPECT_EQ(CUDA_SUCCESS, cuMemcpyDtoH(&value, values_, 4));
    return value;
  }
  CUfunction twice_ = nullptr;
  CUdeviceptr values_ = 0;
  CUstream stream_ = nullptr;
  CUstream other_ = nullptr;
};

TEST_F(GraphTest, CapturedWorkRunsAtEveryLaunchOnly) {
  CHECK_CU(cuMemsetD32(values_, 1, 8));
  CHECK_CU(cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_GLOBAL));
  EXPECT_EQ(CUDA_ERROR_ILLEGAL_STATE, cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_GLOBAL));
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  CHECK_CU(cuStreamIsCapturing(stream_, &status));
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
  CHECK_CU(cuMemsetD32Async(values_, 5, 8, stream_));
  CHECK_CU(LaunchTwice(stream_));
  CHECK_CU(LaunchTwice(stream_));
  EXPECT_EQ(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamSynchronize(stream_));
  CUgraph graph = nullptr;
  CHECK_CU(cuStreamEndCapture(stream_, &graph));
  EXPECT_EQ(First(), 1u);
  size_t count = 0;
  CHECK_CU(cuGraphGetNodes(graph, nullptr, &count));
  ASSERT_EQ(count, 3u);
  std::vector<CUgraphNode> nodes(count);
  CHECK_CU(cuGraphGetNodes(graph, nodes.data(), &count));
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  CHECK_CU(cuGraphNodeGetType(nodes[0], &type));
  EXPECT_EQ(type, CU_GRAPH_NODE_TYPE_MEMSET);
  CHECK_CU(cuGraphNodeGetType(nodes[2], &type));
  EXPECT_EQ(type, CU_GRAPH_NODE_TYPE_KERNEL);

  CUgraphExec exec = nullptr;
  CHECK_CU(cuGraphInstantiate(&exec, graph, 0));
  // The executable graph stands on its own.
  CHECK_CU(cuGraphDestroyNode(nodes[2]));
  CHECK_CU(cuGraphDestroy(graph));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGraphDestroy(graph));
  CHECK_CU(cuGraphLaunch(exec, stream_));
  CHECK_CU(LaunchTwice(stream_));
  CHECK_CU(cuStreamSynchronize(stream_));
  EXPECT_EQ(First(), 40u);
  CHECK_CU(cuGraphLaunch(exec, stream_));
  CHECK_CU(cuStreamSynchronize(stream_));
  EXPECT_EQ(First(), 20u);
  CHECK_CU(cuGraphExecDestroy(exec));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGraphLaunch(exec, stream_));
}

TEST_F(GraphTest, CaptureSpreadsOverEvents) {
  CUevent fork = nullptr;
  CUevent join = nullptr;
  CHECK_CU(cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING));
  CHECK_CU(cuEventCreate(&join, CU_EVENT_DISABLE_TIMING));
  CHECK_CU(cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_RELAXED));
  CHECK_CU(cuMemsetD32Async(values_, 3, 8, stream_));
  CHECK_CU(cuEventRecord(fork, stream_));
  EXPECT_EQ(CUDA_ERROR_CAPTURED_EVENT, cuEventQuery(fork));
  CHECK_CU(cuStreamWaitEvent(other_, fork, 0));
  CHECK_CU(LaunchTwice(other_));
  CUgraph graph = nullptr;
  EXPECT_EQ(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, cuStreamEndCapture(other_, &graph));
  CHECK_CU(cuEventRecord(join, other_));
  CHECK_CU(cuStreamWaitEvent(stream_, join, 0));
  CHECK_CU(LaunchTwice(stream_));
  CHECK_CU(cuStreamEndCapture(stream_, &graph));
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
  CHECK_CU(cuStreamIsCapturing(other_, &status));
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_NONE);
  CUgraphExec exec = nullptr;
  CHECK_CU(cuGraphInstantiate(&exec, graph, 0));
  CHECK_CU(cuGraphLaunch(exec, other_));
  CHECK_CU(cuStreamSynchronize(other_));
  EXPECT_EQ(First(), 12u);
  CHECK_CU(cuGraphExecDestroy(exec));
  CHECK_CU(cuGraphDestroy(graph));
}

TEST_F(GraphTest, WhatCannotBeCaptured) {
  EXPECT_EQ(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
            cuStreamBeginCapture(nullptr, CU_STREAM_CAPTURE_MODE_GLOBAL));
  CUevent outside = nullptr;
  CHECK_CU(cuEventCreate(&outside, 0));
  CHECK_CU(cuEventRecord(outside, other_));
  CHECK_CU(cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_GLOBAL));
  EXPECT_EQ(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, cuStreamWaitEvent(stream_, outside, 0));
  // What lives outside of graphs is not freed in one.
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemFreeAsync(values_, stream_));
  CUgraph graph = nullptr;
  CHECK_CU(cuStreamEndCapture(stream_, &graph));
  EXPECT_EQ(CUDA_ERROR_ILLEGAL_STATE, cuStreamEndCapture(stream_, &graph));
  CHECK_CU(cuGraphDestroy(graph));
}

TEST_F(GraphTest, NodesAddedByHand) {
  CUgraph graph = nullptr;
  CHECK_CU(cuGraphCreate(&graph, 0));
  CUDA_MEMSET_NODE_PARAMS fill = {};
  fill.dst = values_;
  fill.value = 7;
  fill.elementSize = 4;
  fill.width = 8;
  fill.height = 1;
  CUgraphNode first = nullptr;
  CHECK_CU(cuGraphAddMemsetNode(&first, graph, nullptr, 0, &fill, context_));
  fill.elementSize = 3;
  CUgraphNode bad = nullptr;
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
            cuGraphAddMemsetNode(&bad, graph, nullptr, 0, &fill, context_));
  CUDA_KERNEL_NODE_PARAMS kernel = {};
  void* params[] = {&values_};
  kernel.func = twice_;
  kernel.gridDimX = kernel.gridDimY = kernel.gridDimZ = 1;
  kernel.blockDimX = kernel.blockDimY = kernel.blockDimZ = 1;
  kernel.kernelParams = params;
  CUgraphNode second = nullptr;
  CHECK_CU(cuGraphAddKernelNode(&second, graph, &first, 1, &kernel));
  unsigned host[8] = {};
  CUDA_MEMCPY3D copy = {};
  copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = values_;
  copy.dstMemoryType = CU_MEMORYTYPE_HOST;
  copy.dstHost = host;
  copy.WidthInBytes = sizeof(host);
  copy.Height = 1;
  copy.Depth = 1;
  CUgraphNode third = nullptr;
  CHECK_CU(cuGraphAddMemcpyNode(&third, graph, &second, 1, &copy, context_));
  int ran = 0;
  const CUDA_HOST_NODE_PARAMS function = {[](void* data) { ++*static_cast<int*>(data); }, &ran};
  CUgraphNode fourth = nullptr;
  CHECK_CU(cuGraphAddHostNode(&fourth, graph, &third, 1, &function));
  CUgraph elsewhere = nullptr;
  CHECK_CU(cuGraphCreate(&elsewhere, 0));
  CUgraphNode fifth = nullptr;
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGraphAddEmptyNode(&fifth, elsewhere, &first, 1));
  CUgraphNode roots[4] = {};
  size_t count = 4;
  CHECK_CU(cuGraphGetRootNodes(graph, roots, &count));
  ASSERT_EQ(count, 1u);
  EXPECT_EQ(roots[0], first);
  EXPECT_EQ(roots[1], nullptr);
  CUgraphExec exec = nullptr;
  CHECK_CU(cuGraphInstantiate(&exec, graph, 0));
  // A node that goes takes the dependencies on it away.
  CHECK_CU(cuGraphDestroyNode(first));
  count = 4;
  CHECK_CU(cuGraphGetRootNodes(graph, roots, &count));
  ASSERT_EQ(count, 1u);
  EXPECT_EQ(roots[0], second);
  CHECK_CU(cuGraphUpload(exec, stream_));
  CHECK_CU(cuGraphLaunch(exec, stream_));
  CHECK_CU(cuStreamSynchronize(stream_));
  EXPECT_EQ(host[7], 14u);
  EXPECT_EQ(ran, 1);
  CHECK_CU(cuGraphExecDestroy(exec));
  CHECK_CU(cuGraphDestroy(graph));
  CHECK_CU(cuGraphDestroy(elsewhere));
}

// A graph that fills the values and doubles them once or twice.
struct MadeGraph {
  CUgraph graph = nullptr;
  CUgraphNode fill = nullptr;
  CUgraphNode kernel = nullptr;
};

class GraphUpdateTest : public GraphTest {
 protected:
  CUDA_MEMSET_NODE_PARAMS Fill(unsigned value) const {
    CUDA_MEMSET_NODE_PARAMS params = {};
    params.dst = values_;
    params.value = value;
    params.elementSize = 4;
    params.width = 8;
    params.height = 1;
    return params;
  }
  CUDA_KERNEL_NODE_PARAMS Kernel(void** arguments) const {
    CUDA_KERNEL_NODE_PARAMS params = {};
    params.func = twice_;
    params.gridDimX = params.gridDimY = params.gridDimZ = 1;
    params.blockDimX = 8;
    params.blockDimY = params.blockDimZ = 1;
    params.kernelParams = arguments;
    return params;
  }
  MadeGraph Make(unsigned value) {
    MadeGraph made;
    CUcontext context = nullptr;
    EXPECT_EQ(CUDA_SUCCESS, cuCtxGetCurrent(&context));
    EXPECT_EQ(CUDA_SUCCESS, cuGraphCreate(&made.graph, 0));
    const auto fill = Fill(value);
    EXPECT_EQ(CUDA_SUCCESS,
              cuGraphAddMemsetNode(&made.fill, made.graph, nullptr, 0, &fill, context));
    CUdeviceptr argument = values_;  // gone when the graph runs
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

  // What was captured has parameters too.
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
  // To another address.
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
  // The nodes are still known by their first handles.
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
      << "a circle";
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
  CHECK_CU(cuGraphLaunch(exec, stream_));  // it waits for the first launch's record
  CHECK_CU(cuStreamSynchronize(stream_));
  CUgraphNodeParams unknown = {};
  unknown.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
  EXPECT_EQ(CUDA_ERROR_NOT_SUPPORTED,
            cuGraphAddNode_v2(&node, clone, nullptr, nullptr, 0, &unknown));
}

TEST_F(GraphTest, StreamsKeepTheirAttributes) {
  CUstreamAttrValue value = {};
  value.accessPolicyWindow.num_bytes = 4096;
  value.accessPolicyWindow.hitRatio = 0.5F;
  CHECK_CU(cuStreamSetAttribute(stream_, CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW, &value));
  CHECK_CU(cuStreamCopyAttributes(other_, stream_));
  CUstreamAttrValue found = {};
  CHECK_CU(cuStreamGetAttribute(other_, CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW, &found));
  EXPECT_EQ(found.accessPolicyWindow.num_bytes, 4096u);
  CHECK_CU(cuStreamGetAttribute(other_, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &found));
  EXPECT_EQ(found.syncPolicy, 0);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
            cuStreamSetAttribute(stream_, CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW, nullptr));
}

TEST_F(GraphTest, CooperativeLaunchesFitTheDevice) {
  int cooperates = 0;
  CHECK_CU(cuDeviceGetAttribute(&cooperates, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 0));
  EXPECT_EQ(cooperates, 1);
  int multiprocessors = 0;
  CHECK_CU(cuDeviceGetAttribute(&multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
  int blocks = 0;
  CHECK_CU(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, twice_, 256, 0));
  const auto all = static_cast<unsigned>(blocks * multiprocessors);
  void* params[] = {&values_};
  CHECK_CU(cuMemsetD32(values_, 1, 8));
  CHECK_CU(cuLaunchCooperativeKernel(twice_, all, 1, 1, 256, 1, 1, 0, stream_, params));
  CHECK_CU(cuStreamSynchronize(stream_));
  EXPECT_EQ(First(), 2u);
  EXPECT_EQ(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
            cuLaunchCooperativeKernel(twice_, all + 1, 1, 1, 256, 1, 1, 0, stream_, params));
}

TEST_F(GraphTest, LinkedPtxHasTheKernelsOfAll) {
  CUlinkState linker = nullptr;
  CHECK_CU(cuLinkCreate(0, nullptr, nullptr, &linker));
  std::string one = kPtx;
  std::string two = ".version 8.0\n.target sm_90\n.entry other(.param .u32 n) { ret; }\n";
  CHECK_CU(cuLinkAddData(linker, CU_JIT_INPUT_PTX, one.data(), one.size() + 1, "one", 0, nullptr,
                         nullptr));
  CHECK_CU(
      cuLinkAddData(linker, CU_JIT_INPUT_PTX, two.data(), two.size(), "two", 0, nullptr, nullptr));
  EXPECT_EQ(CUDA_ERROR_INVALID_PTX,
            cuLinkAddData(linker, CU_JIT_INPUT_PTX, one.data(), 3, "cut", 0, nullptr, nullptr));
  void* cubin = nullptr;
  size_t bytes = 0;
  CHECK_CU(cuLinkComplete(linker, &cubin, &bytes));
  EXPECT_GT(bytes, one.size() + two.size());
  CUmodule module = nullptr;
  CHECK_CU(cuModuleLoadData(&module, cubin));
  CUfunction function = nullptr;
  EXPECT_EQ(CUDA_SUCCESS, cuModuleGetFunction(&function, module, "twice"));
  EXPECT_EQ(CUDA_SUCCESS, cuModuleGetFunction(&function, module, "other"));
  EXPECT_EQ(CUDA_ERROR_NOT_FOUND, cuModuleGetFunction(&function, module, "neither"));
  CHECK_CU(cuModuleUnload(module));
  CHECK_CU(cuLinkDestroy(linker));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuLinkComplete(linker, &cubin, &bytes));
}

}  // namespace
}  // namespace memprof::simcuda
