// Graph memory, textures, external memory, IPC and array copies through the stand-in cudart; linked
// against the 12 and the 13 one. What both runtimes share with the driver is tested there.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <vector>

#include "tests/simcuda/configure.h"

#define CHECK_RT(call) ASSERT_EQ(cudaSuccess, (call))

namespace {

const memprof::simcuda::Configure kConfigure("memory=1GiB,overhead=0,devices=2");
constexpr size_t kMiB = size_t{1} << 20;

size_t Free() {
  size_t free = 0;
  EXPECT_EQ(cudaSuccess, cudaMemGetInfo(&free, nullptr));
  return free;
}

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

TEST(RuntimeFeatures, TexturesOfArraysAndMemory) {
  const cudaChannelFormatDesc channel =
      cudaCreateChannelDesc(8, 8, 8, 8, cudaChannelFormatKindSigned);
  cudaArray_t array = nullptr;
  CHECK_RT(cudaMallocArray(&array, &channel, 16, 16, cudaArraySurfaceLoadStore));
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaTextureDesc description = {};
  description.addressMode[2] = cudaAddressModeBorder;
  description.filterMode = cudaFilterModeLinear;
  description.readMode = cudaReadModeNormalizedFloat;
  description.normalizedCoords = 1;
  description.sRGB = 1;
  description.borderColor[3] = 0.5F;
  description.maxMipmapLevelClamp = 7;
  cudaTextureObject_t object = 0;
  CHECK_RT(cudaCreateTextureObject(&object, &resource, &description, nullptr));
  cudaResourceDesc resource_back = {};
  CHECK_RT(cudaGetTextureObjectResourceDesc(&resource_back, object));
  EXPECT_EQ(resource_back.resType, cudaResourceTypeArray);
  EXPECT_EQ(resource_back.res.array.array, array);
  cudaTextureDesc description_back = {};
  CHECK_RT(cudaGetTextureObjectTextureDesc(&description_back, object));
  EXPECT_EQ(std::memcmp(&description_back, &description, sizeof(description)), 0);
  cudaResourceViewDesc view = {};
  EXPECT_EQ(cudaErrorInvalidValue, cudaGetTextureObjectResourceViewDesc(&view, object));
  CHECK_RT(cudaDestroyTextureObject(object));
  view.format = cudaResViewFormatSignedChar4;
  view.width = view.height = 16;
  view.lastLayer = 3;
  CHECK_RT(cudaCreateTextureObject(&object, &resource, &description, &view));
  cudaResourceViewDesc view_back = {};
  CHECK_RT(cudaGetTextureObjectResourceViewDesc(&view_back, object));
  EXPECT_EQ(std::memcmp(&view_back, &view, sizeof(view)), 0);
  CHECK_RT(cudaDestroyTextureObject(object));
  cudaSurfaceObject_t surface = 0;
  CHECK_RT(cudaCreateSurfaceObject(&surface, &resource));
  CHECK_RT(cudaGetSurfaceObjectResourceDesc(&resource_back, surface));
  EXPECT_EQ(resource_back.res.array.array, array);
  CHECK_RT(cudaDestroySurfaceObject(surface));
  CHECK_RT(cudaFreeArray(array));

  void* linear = nullptr;
  CHECK_RT(cudaMalloc(&linear, 4096));
  resource = {};
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear.devPtr = linear;
  resource.res.linear.desc = channel;
  resource.res.linear.sizeInBytes = 4096;
  CHECK_RT(cudaCreateTextureObject(&object, &resource, &description, nullptr));
  CHECK_RT(cudaGetTextureObjectResourceDesc(&resource_back, object));
  EXPECT_EQ(resource_back.res.linear.devPtr, linear);
  EXPECT_EQ(resource_back.res.linear.sizeInBytes, 4096u);
  EXPECT_EQ(resource_back.res.linear.desc.w, 8);
  EXPECT_EQ(resource_back.res.linear.desc.f, cudaChannelFormatKindSigned);
  CHECK_RT(cudaDestroyTextureObject(object));
  resource = {};
  resource.resType = cudaResourceTypePitch2D;
  resource.res.pitch2D.devPtr = linear;
  resource.res.pitch2D.desc = channel;
  resource.res.pitch2D.width = 10;
  resource.res.pitch2D.height = 5;
  resource.res.pitch2D.pitchInBytes = 512;
  CHECK_RT(cudaCreateTextureObject(&object, &resource, &description, nullptr));
  CHECK_RT(cudaGetTextureObjectResourceDesc(&resource_back, object));
  EXPECT_EQ(resource_back.res.pitch2D.pitchInBytes, 512u);
  EXPECT_EQ(resource_back.res.pitch2D.height, 5u);
  CHECK_RT(cudaDestroyTextureObject(object));
  resource.res.pitch2D.desc.x = 12;
  EXPECT_EQ(cudaErrorInvalidChannelDescriptor,
            cudaCreateTextureObject(&object, &resource, &description, nullptr));
  CHECK_RT(cudaFree(linear));
  cudaGetLastError();
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
  // Not for the process that made it.
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

TEST(RuntimeFeatures, CopiesBetweenArrays) {
  const cudaChannelFormatDesc channel =
      cudaCreateChannelDesc(16, 0, 0, 0, cudaChannelFormatKindUnsigned);
  cudaArray_t first = nullptr;
  cudaArray_t second = nullptr;
  CHECK_RT(cudaMallocArray(&first, &channel, 10, 6, 0));
  CHECK_RT(cudaMallocArray(&second, &channel, 20, 8, 0));
  cudaStream_t stream = nullptr;
  CHECK_RT(cudaStreamCreate(&stream));
  std::vector<unsigned short> host(60);
  std::iota(host.begin(), host.end(), 100);
  CHECK_RT(cudaMemcpy2DToArrayAsync(first, 0, 0, host.data(), 20, 20, 6, cudaMemcpyHostToDevice,
                                    stream));
  CHECK_RT(cudaStreamSynchronize(stream));
  // 4 elements of 3 rows, from (2, 1) to (12, 4).
  CHECK_RT(cudaMemcpy2DArrayToArray(second, 24, 4, first, 4, 1, 8, 3, cudaMemcpyDeviceToDevice));
  std::vector<unsigned short> read(12);
  CHECK_RT(cudaMemcpy2DFromArrayAsync(read.data(), 8, second, 24, 4, 8, 3, cudaMemcpyDeviceToHost,
                                      stream));
  CHECK_RT(cudaStreamSynchronize(stream));
  for (size_t i = 0; i < read.size(); ++i) {
    EXPECT_EQ(read[i], 100 + (i / 4 + 1) * 10 + i % 4 + 2) << i;
  }
  EXPECT_EQ(cudaErrorInvalidValue,
            cudaMemcpy2DArrayToArray(second, 34, 4, first, 4, 1, 8, 3, cudaMemcpyDeviceToDevice));
  cudaGetLastError();
  CHECK_RT(cudaStreamDestroy(stream));
  CHECK_RT(cudaFreeArray(first));
  CHECK_RT(cudaFreeArray(second));
}

TEST(RuntimeFeatures, ChannelsSurviveTheirArray) {
  const struct {
    int bits;
    int channels;
    cudaChannelFormatKind kind;
    bool good;
  } cases[] = {
      {8, 1, cudaChannelFormatKindUnsigned, true},   {16, 2, cudaChannelFormatKindSigned, true},
      {32, 4, cudaChannelFormatKindFloat, true},     {16, 1, cudaChannelFormatKindFloat, true},
      {32, 1, cudaChannelFormatKindSigned, true},    {8, 4, cudaChannelFormatKindSigned, true},
      {8, 1, cudaChannelFormatKindFloat, false},     {32, 3, cudaChannelFormatKindFloat, false},
      {12, 1, cudaChannelFormatKindUnsigned, false}, {32, 1, cudaChannelFormatKindNone, false}};
  for (const auto& one : cases) {
    const auto bits = [&](int channel) { return channel < one.channels ? one.bits : 0; };
    const cudaChannelFormatDesc wanted =
        cudaCreateChannelDesc(bits(0), bits(1), bits(2), bits(3), one.kind);
    cudaArray_t array = nullptr;
    const cudaError_t result = cudaMallocArray(&array, &wanted, 8, 8, 0);
    ASSERT_EQ(result, one.good ? cudaSuccess : cudaErrorInvalidChannelDescriptor)
        << one.bits << " " << one.channels;
    if (!one.good) continue;
    cudaChannelFormatDesc got = {};
    CHECK_RT(cudaGetChannelDesc(&got, array));
    EXPECT_EQ(std::memcmp(&got, &wanted, sizeof(got)), 0) << one.bits << " " << one.channels;
    CHECK_RT(cudaFreeArray(array));
  }
  cudaGetLastError();
}

TEST(RuntimeFeatures, MipmapsHalveTheirLevels) {
  const cudaChannelFormatDesc channel =
      cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
  cudaMipmappedArray_t mipmap = nullptr;
  const size_t before = Free();
  CHECK_RT(cudaMallocMipmappedArray(&mipmap, &channel, {1024, 512, 0}, 5, 0));
  EXPECT_LE(Free(), before - 1024 * 512 * 4);
  for (unsigned level = 0; level < 5; ++level) {
    cudaArray_t array = nullptr;
    CHECK_RT(cudaGetMipmappedArrayLevel(&array, mipmap, level));
    cudaExtent extent = {};
    CHECK_RT(cudaArrayGetInfo(nullptr, &extent, nullptr, array));
    EXPECT_EQ(extent.width, 1024u >> level);
    EXPECT_EQ(extent.height, 512u >> level);
    EXPECT_NE(cudaFreeArray(array), cudaSuccess);  // it goes with the whole
  }
  CHECK_RT(cudaFreeMipmappedArray(mipmap));
  EXPECT_EQ(Free(), before);
  cudaGetLastError();
}

TEST(RuntimeFeatures, PerThreadVariantsUseTheThreadsStream) {
  void* block = nullptr;
  CHECK_RT(cudaMalloc(&block, 64));
  cudaStream_t busy = nullptr;
  CHECK_RT(cudaStreamCreateWithFlags(&busy, cudaStreamNonBlocking));
  // Work captured from the per-thread stream is not work of the legacy one, which cannot be
  // captured at all.
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
