// Graphs from captures and graphs built node by node.
#include <vector>

#include "tests/simcuda/graph_fixture.h"

namespace memprof::simcuda {
namespace {

SIMCUDA_CONFIGURE("memory=1GiB,overhead=0");

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
  // The executable graph does not depend on its graph.
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
  // A graph cannot free memory that was allocated outside of graphs.
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemFreeAsync(values_, stream_));
  CUgraph graph = nullptr;
  CHECK_CU(cuStreamEndCapture(stream_, &graph));
  EXPECT_EQ(CUDA_ERROR_ILLEGAL_STATE, cuStreamEndCapture(stream_, &graph));
  CHECK_CU(cuGraphDestroy(graph));
}

TEST_F(GraphTest, NodesAddedByHand) {
  CUgraph graph = nullptr;
  CHECK_CU(cuGraphCreate(&graph, 0));
  CUDA_MEMSET_NODE_PARAMS fill = Fill(7);
  CUgraphNode first = nullptr;
  CHECK_CU(cuGraphAddMemsetNode(&first, graph, nullptr, 0, &fill, context_));
  fill.elementSize = 3;
  CUgraphNode bad = nullptr;
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
            cuGraphAddMemsetNode(&bad, graph, nullptr, 0, &fill, context_));
  void* params[] = {&values_};
  const CUDA_KERNEL_NODE_PARAMS kernel = Kernel(params);
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
  // Destroying a node removes the dependencies on it.
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

}  // namespace
}  // namespace memprof::simcuda
