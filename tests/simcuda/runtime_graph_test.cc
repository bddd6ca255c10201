// Graph nodes, row copies of arrays and other forwarded calls of the stand-in cudart; linked
// against versions 12 and 13.
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <numeric>
#include <vector>

#include "tests/simcuda/runtime_fixture.h"

namespace {

SIMCUDA_CONFIGURE("memory=1GiB,overhead=0,gpu=A100-40GB");

cudaError_t AddNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                    size_t count, cudaGraphNodeParams* parameters) {
  // The variant with edge data: the plain name in version 13, `_v2` in version 12.
  const auto add = reinterpret_cast<decltype(&cudaGraphAddNode)>(
      dlsym(RTLD_DEFAULT, RuntimeVersion() == 12 ? "cudaGraphAddNode_v2" : "cudaGraphAddNode"));
  return add(node, graph, dependencies, nullptr, count, parameters);
}

// Adds the graph as a child node of another graph, and finds the node in the child graph.
void CheckInsideAnother(cudaGraph_t graph, cudaGraphNode_t node) {
  cudaGraph_t outer = nullptr;
  CHECK_RT(cudaGraphCreate(&outer, 0));
  cudaGraphNode_t child = nullptr;
  CHECK_RT(cudaGraphAddChildGraphNode(&child, outer, nullptr, 0, graph));
  cudaGraph_t within = nullptr;
  CHECK_RT(cudaGraphChildGraphNodeGetGraph(child, &within));
  cudaGraphNode_t reference = nullptr;
  CHECK_RT(cudaGraphNodeFindInClone(&reference, node, within));
  cudaGraph_t clone = nullptr;
  CHECK_RT(cudaGraphClone(&clone, outer));
  CHECK_RT(cudaGraphDestroy(clone));
  CHECK_RT(cudaGraphDestroy(outer));
}

TEST(RuntimeGraph, NodesOfAnyKindAreReadAndChanged) {
  unsigned char* device = nullptr;
  CHECK_RT(cudaMalloc(reinterpret_cast<void**>(&device), 64));
  std::vector<unsigned char> host(64, 0);
  cudaGraph_t graph = nullptr;
  CHECK_RT(cudaGraphCreate(&graph, 0));
  cudaGraphNodeParams fill = {};
  fill.type = cudaGraphNodeTypeMemset;
  fill.memset = {device, 0, 3, 1, 64, 1};
  cudaGraphNode_t filling = nullptr;
  CHECK_RT(AddNode(&filling, graph, nullptr, 0, &fill));
  cudaGraphNodeParams copy = {};
  copy.type = cudaGraphNodeTypeMemcpy;
  copy.memcpy.copyParams.srcPtr = {device, 64, 64, 1};
  copy.memcpy.copyParams.dstPtr = {host.data(), 64, 64, 1};
  copy.memcpy.copyParams.extent = {64, 1, 1};
  copy.memcpy.copyParams.kind = cudaMemcpyDeviceToHost;
  cudaGraphNode_t copying = nullptr;
  CHECK_RT(AddNode(&copying, graph, &filling, 1, &copy));

  cudaMemsetParams found_fill = {};
  CHECK_RT(cudaGraphMemsetNodeGetParams(filling, &found_fill));
  EXPECT_EQ(found_fill.dst, device);
  EXPECT_EQ(found_fill.value, 3u);
  cudaMemcpy3DParms found_copy = {};
  CHECK_RT(cudaGraphMemcpyNodeGetParams(copying, &found_copy));
  EXPECT_EQ(found_copy.srcPtr.ptr, device);
  EXPECT_EQ(found_copy.dstPtr.ptr, host.data());
  EXPECT_EQ(found_copy.extent.width, 64u);
  EXPECT_EQ(found_copy.kind, cudaMemcpyDeviceToHost);

  cudaGraphExec_t exec = nullptr;
  CHECK_RT(cudaGraphInstantiateWithFlags(&exec, graph, 0));
  CHECK_RT(cudaGraphLaunch(exec, nullptr));
  CHECK_RT(cudaDeviceSynchronize());
  EXPECT_EQ(host[63], 3);
  fill.memset.value = 4;
  CHECK_RT(cudaGraphExecNodeSetParams(exec, filling, &fill));
  CHECK_RT(cudaGraphExecMemcpyNodeSetParams1D(exec, copying, host.data(), device, 32,
                                              cudaMemcpyDeviceToHost));
  CHECK_RT(cudaGraphLaunch(exec, nullptr));
  CHECK_RT(cudaDeviceSynchronize());
  EXPECT_EQ(host[31], 4);
  EXPECT_EQ(host[32], 3);
  cudaGraphExecUpdateResultInfo info = {};
  CHECK_RT(cudaGraphExecUpdate(exec, graph, &info));
  CHECK_RT(cudaGraphLaunch(exec, nullptr));
  CHECK_RT(cudaDeviceSynchronize());
  EXPECT_EQ(host[31], 3);

  ASSERT_NO_FATAL_FAILURE(CheckInsideAnother(graph, filling));
  CHECK_RT(cudaGraphExecDestroy(exec));
  CHECK_RT(cudaGraphDestroy(graph));
  CHECK_RT(cudaFree(device));
}

TEST(RuntimeGraph, CaptureGoesOnInAGraph) {
  cudaStream_t stream = nullptr;
  CHECK_RT(cudaStreamCreate(&stream));
  cudaGraph_t graph = nullptr;
  CHECK_RT(cudaGraphCreate(&graph, 0));
  cudaGraphNode_t first = nullptr;
  CHECK_RT(cudaGraphAddEmptyNode(&first, graph, nullptr, 0));
  CHECK_RT(cudaStreamBeginCaptureToGraph(stream, graph, &first, nullptr, 1,
                                         cudaStreamCaptureModeGlobal));
  CHECK_RT(cudaLaunchHostFunc(
      stream, [](void*) {}, nullptr));
  cudaGraph_t ended = nullptr;
  CHECK_RT(cudaStreamEndCapture(stream, &ended));
  EXPECT_EQ(ended, graph);
  size_t count = 0;
  CHECK_RT(cudaGraphGetNodes(graph, nullptr, &count));
  EXPECT_EQ(count, 2u);
  cudaLaunchAttributeValue value = {};
  value.accessPolicyWindow.num_bytes = 512;
  CHECK_RT(cudaStreamSetAttribute(stream, cudaLaunchAttributeAccessPolicyWindow, &value));
  cudaLaunchAttributeValue kept = {};
  CHECK_RT(cudaStreamGetAttribute(stream, cudaLaunchAttributeAccessPolicyWindow, &kept));
  EXPECT_EQ(kept.accessPolicyWindow.num_bytes, 512u);
  CHECK_RT(cudaStreamDestroy(stream));
}

// Deprecated, but still used by older programs; the headers of version 13 do not declare them.
using ToArray = cudaError_t (*)(cudaArray_t, size_t, size_t, const void*, size_t, cudaMemcpyKind);
using FromArray = cudaError_t (*)(void*, cudaArray_const_t, size_t, size_t, size_t, cudaMemcpyKind);

TEST(RuntimeGraph, CopiesTakeTheRowsOfAnArrayAsOneLine) {
  const auto to_array = reinterpret_cast<ToArray>(dlsym(RTLD_DEFAULT, "cudaMemcpyToArray"));
  const auto from_array = reinterpret_cast<FromArray>(dlsym(RTLD_DEFAULT, "cudaMemcpyFromArray"));
  ASSERT_NE(to_array, nullptr);
  ASSERT_NE(from_array, nullptr);
  const cudaChannelFormatDesc channel =
      cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindUnsigned);
  cudaArray_t array = nullptr;
  CHECK_RT(cudaMallocArray(&array, &channel, 10, 6, 0));
  std::vector<unsigned> values(60);
  std::iota(values.begin(), values.end(), 100);
  CHECK_RT(to_array(array, 0, 0, values.data(), 240, cudaMemcpyHostToDevice));
  std::vector<unsigned> part(25, 0);  // from the fourth element of the second row
  CHECK_RT(from_array(part.data(), array, 12, 1, 100, cudaMemcpyDeviceToHost));
  for (unsigned i = 0; i < 25; ++i) EXPECT_EQ(part[i], 113 + i);
  EXPECT_EQ(cudaErrorInvalidValue,
            to_array(array, 40, 0, values.data(), 4, cudaMemcpyHostToDevice));
  EXPECT_EQ(cudaErrorInvalidValue,
            to_array(array, 0, 5, values.data(), 44, cudaMemcpyHostToDevice));
  cudaGetLastError();
  CHECK_RT(cudaFreeArray(array));
}

TEST(RuntimeGraph, TheDeviceIsTheRequestedOne) {
  int value = 0;
  CHECK_RT(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0));
  EXPECT_EQ(value, 108);
  CHECK_RT(cudaDeviceGetAttribute(&value, cudaDevAttrComputeCapabilityMajor, 0));
  EXPECT_EQ(value, 8);
  CHECK_RT(cudaDeviceGetAttribute(&value, cudaDevAttrMaxSharedMemoryPerMultiprocessor, 0));
  EXPECT_EQ(value, 167936);
  CHECK_RT(cudaDeviceGetAttribute(&value, cudaDevAttrL2CacheSize, 0));
  EXPECT_EQ(value, 40 << 20);
  size_t free = 0;
  size_t total = 0;
  CHECK_RT(cudaMemGetInfo(&free, &total));
  EXPECT_EQ(total, size_t{1} << 30) << "the note about the model";
}

}  // namespace
