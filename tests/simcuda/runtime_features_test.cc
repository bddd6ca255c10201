// Graph memory, external memory, IPC and per-thread streams through the stand-in cudart. Behaviour
// that both runtimes take from the driver is tested with the driver.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <numeric>
#include <vector>

#include "tests/simcuda/runtime_fixture.h"

namespace {

SIMCUDA_CONFIGURE("memory=1GiB,overhead=0,devices=2");

int ByteAt(const void* pointer) {
  unsigned char byte = 0;
  EXPECT_EQ(cudaSuccess, cudaMemcpy(&byte, pointer, 1, cudaMemcpyDeviceToHost));
  return byte;
}

size_t GraphMemory(cudaGraphMemAttributeType attribute) {
  size_t value = 0;
  EXPECT_EQ(cudaSuccess, cudaDeviceGetGraphMemAttribute(0, attribute, &value));
  return value;
}

TEST(RuntimeFeatures, CapturedAllocationsBecomeMemoryNodes) {
  cudaStream_t stream = nullptr;
  CHECK_RT(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  const size_t before = Free();
  CHECK_RT(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  void* inside = nullptr;
  void* left = nullptr;
  CHECK_RT(cudaMallocAsync(&inside, kMiB, stream));
  CHECK_RT(cudaMallocAsync(&left, kMiB, stream));
  CHECK_RT(cudaMemsetAsync(inside, 3, kMiB, stream));
  CHECK_RT(cudaMemcpyAsync(left, inside, kMiB, cudaMemcpyDeviceToDevice, stream));
  CHECK_RT(cudaFreeAsync(inside, stream));
  cudaGraph_t graph = nullptr;
  CHECK_RT(cudaStreamEndCapture(stream, &graph));
  EXPECT_EQ(Free(), before);
  cudaGraphNode_t nodes[8] = {};
  size_t count = 8;
  CHECK_RT(cudaGraphGetNodes(graph, nodes, &count));
  ASSERT_EQ(count, 5u);
  cudaMemAllocNodeParams params = {};
  CHECK_RT(cudaGraphMemAllocNodeGetParams(nodes[0], &params));
  EXPECT_EQ(params.dptr, inside);
  EXPECT_EQ(params.bytesize, kMiB);
  void* freed = nullptr;
  CHECK_RT(cudaGraphMemFreeNodeGetParams(nodes[4], &freed));
  EXPECT_EQ(freed, inside);
  cudaGraphExec_t exec = nullptr;
  CHECK_RT(cudaGraphInstantiate(&exec, graph, 0));
  CHECK_RT(cudaGraphLaunch(exec, stream));
  CHECK_RT(cudaStreamSynchronize(stream));
  EXPECT_EQ(ByteAt(static_cast<char*>(left) + kMiB - 1), 3);
  EXPECT_EQ(GraphMemory(cudaGraphMemAttrUsedMemCurrent), 2 * kMiB);
  EXPECT_EQ(GraphMemory(cudaGraphMemAttrReservedMemCurrent), 4 * kMiB);
  EXPECT_EQ(Free(), before - 4 * kMiB);
  CHECK_RT(cudaFree(left));
  CHECK_RT(cudaDeviceGraphMemTrim(0));
  EXPECT_EQ(Free(), before);
  size_t zero = 0;
  CHECK_RT(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &zero));
  EXPECT_EQ(GraphMemory(cudaGraphMemAttrUsedMemHigh), 0u);
  CHECK_RT(cudaGraphExecDestroy(exec));
  CHECK_RT(cudaGraphDestroy(graph));
  CHECK_RT(cudaStreamDestroy(stream));
}

TEST(RuntimeFeatures, NodesByHand) {
  cudaGraph_t graph = nullptr;
  CHECK_RT(cudaGraphCreate(&graph, 0));
  cudaMemAllocNodeParams params = {};
  params.poolProps.allocType = cudaMemAllocationTypePinned;
  params.poolProps.location.type = cudaMemLocationTypeDevice;
  params.bytesize = 1000;
  cudaGraphNode_t alloc = nullptr;
  CHECK_RT(cudaGraphAddMemAllocNode(&alloc, graph, nullptr, 0, &params));
  ASSERT_NE(params.dptr, nullptr);
  std::vector<unsigned char> host(1000);
  std::iota(host.begin(), host.end(), 0);
  std::vector<unsigned char> back(500);
  cudaGraphNode_t in = nullptr;
  CHECK_RT(cudaGraphAddMemcpyNode1D(&in, graph, &alloc, 1, params.dptr, host.data(), 1000,
                                    cudaMemcpyHostToDevice));
  cudaMemcpy3DParms box = {};
  box.srcPtr = {params.dptr, 100, 100, 10};
  box.srcPos = {0, 5, 0};
  box.dstPtr = {back.data(), 100, 100, 5};
  box.extent = {100, 5, 1};
  box.kind = cudaMemcpyDeviceToHost;
  cudaGraphNode_t out = nullptr;
  CHECK_RT(cudaGraphAddMemcpyNode(&out, graph, &in, 1, &box));
  cudaGraphNode_t release = nullptr;
  CHECK_RT(cudaGraphAddMemFreeNode(&release, graph, &out, 1, params.dptr));
  EXPECT_EQ(cudaErrorInvalidValue, cudaGraphAddMemFreeNode(&release, graph, &out, 1, params.dptr));
  EXPECT_EQ(cudaErrorInvalidValue, cudaGraphAddMemcpyNode(&out, graph, &in, 1, nullptr));
  cudaGraphExec_t exec = nullptr;
  CHECK_RT(cudaGraphInstantiate(&exec, graph, 0));
  CHECK_RT(cudaGraphLaunch(exec, nullptr));
  CHECK_RT(cudaDeviceSynchronize());
  EXPECT_TRUE(std::equal(back.begin(), back.end(), host.begin() + 500));
  CHECK_RT(cudaGraphExecDestroy(exec));
  CHECK_RT(cudaGraphDestroy(graph));
  CHECK_RT(cudaDeviceGraphMemTrim(0));
}

TEST(RuntimeFeatures, ExternalMemoryByDescriptor) {
  const int file = memfd_create("external", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(file, 8192), 0);
  ASSERT_EQ(pwrite(file, "here", 4, 5000), 4);
  cudaExternalMemoryHandleDesc description = {};
  description.type = cudaExternalMemoryHandleTypeOpaqueFd;
  description.handle.fd = file;
  description.size = 8192;
  cudaExternalMemory_t memory = nullptr;
  CHECK_RT(cudaImportExternalMemory(&memory, &description));
  cudaExternalMemoryBufferDesc part = {};
  part.offset = 5000;
  part.size = 100;
  void* buffer = nullptr;
  CHECK_RT(cudaExternalMemoryGetMappedBuffer(&buffer, memory, &part));
  char text[5] = {};
  CHECK_RT(cudaMemcpy(text, buffer, 4, cudaMemcpyDeviceToHost));
  EXPECT_STREQ(text, "here");
  CHECK_RT(cudaFree(buffer));
  CHECK_RT(cudaDestroyExternalMemory(memory));
  EXPECT_EQ(cudaErrorInvalidValue, cudaImportExternalMemory(&memory, nullptr));
  cudaGetLastError();
}

TEST(RuntimeFeatures, HandlesForOtherProcesses) {
  void* block = nullptr;
  CHECK_RT(cudaMalloc(&block, 100));
  cudaIpcMemHandle_t handle = {};
  CHECK_RT(cudaIpcGetMemHandle(&handle, block));
  void* again = nullptr;
  // The exporting process itself cannot open the handle.
  EXPECT_EQ(cudaErrorDeviceUninitialized,
            cudaIpcOpenMemHandle(&again, handle, cudaIpcMemLazyEnablePeerAccess));
  cudaEvent_t event = nullptr;
  CHECK_RT(cudaEventCreateWithFlags(&event, cudaEventInterprocess | cudaEventDisableTiming));
  cudaIpcEventHandle_t event_handle = {};
  CHECK_RT(cudaIpcGetEventHandle(&event_handle, event));
  cudaEvent_t other = nullptr;
  EXPECT_EQ(cudaErrorDeviceUninitialized, cudaIpcOpenEventHandle(&other, event_handle));
  CHECK_RT(cudaEventDestroy(event));
  CHECK_RT(cudaFree(block));
  cudaMemPoolProps properties = {};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  properties.handleTypes = cudaMemHandleTypePosixFileDescriptor;
  cudaMemPool_t pool = nullptr;
  cudaMemPool_t imported = nullptr;
  CHECK_RT(cudaMemPoolCreate(&pool, &properties));
  int file = -1;
  CHECK_RT(
      cudaMemPoolExportToShareableHandle(&file, pool, cudaMemHandleTypePosixFileDescriptor, 0));
  CHECK_RT(cudaMemPoolImportFromShareableHandle(
      &imported, reinterpret_cast<void*>(static_cast<intptr_t>(file)),
      cudaMemHandleTypePosixFileDescriptor, 0));
  close(file);
  CHECK_RT(cudaMallocFromPoolAsync(&block, 1000, pool, nullptr));
  CHECK_RT(cudaMemset(block, 9, 1000));
  cudaMemPoolPtrExportData data = {};
  CHECK_RT(cudaMemPoolExportPointer(&data, block));
  CHECK_RT(cudaMemPoolImportPointer(&again, imported, &data));
  EXPECT_NE(again, block);
  EXPECT_EQ(ByteAt(static_cast<char*>(again) + 999), 9);
  CHECK_RT(cudaFree(again));
  CHECK_RT(cudaFree(block));
  CHECK_RT(cudaMemPoolDestroy(imported));
  CHECK_RT(cudaMemPoolDestroy(pool));
  cudaGetLastError();
}

TEST(RuntimeFeatures, PerThreadVariantsUseTheThreadsStream) {
  void* block = nullptr;
  CHECK_RT(cudaMalloc(&block, 64));
  cudaStream_t busy = nullptr;
  CHECK_RT(cudaStreamCreateWithFlags(&busy, cudaStreamNonBlocking));
  // Capture of the per-thread stream does not capture the legacy stream, which cannot be captured
  // at all.
  EXPECT_EQ(cudaErrorStreamCaptureUnsupported,
            cudaStreamBeginCapture(cudaStreamLegacy, cudaStreamCaptureModeRelaxed));
  CHECK_RT(cudaStreamBeginCapture(cudaStreamPerThread, cudaStreamCaptureModeRelaxed));
  CHECK_RT(cudaMemsetAsync(block, 1, 64, cudaStreamPerThread));
  CHECK_RT(cudaMemsetAsync(block, 2, 64, busy));
  cudaGraph_t graph = nullptr;
  CHECK_RT(cudaStreamEndCapture(cudaStreamPerThread, &graph));
  size_t count = 0;
  CHECK_RT(cudaGraphGetNodes(graph, nullptr, &count));
  EXPECT_EQ(count, 1u);
  CHECK_RT(cudaStreamSynchronize(busy));
  EXPECT_EQ(ByteAt(block), 2);
  CHECK_RT(cudaGraphDestroy(graph));
  CHECK_RT(cudaStreamDestroy(busy));
  CHECK_RT(cudaFree(block));
  cudaGetLastError();
}

}  // namespace
