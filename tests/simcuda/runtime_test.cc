// The stand-in cudart through its exports: memory, streams, devices, errors, copies.
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "tests/simcuda/runtime_fixture.h"

namespace {

SIMCUDA_CONFIGURE("memory=1GiB,overhead=64MiB,devices=2,threads=6");

TEST(Runtime, VersionsFit) {
  int version = 0;
  CHECK_RT(cudaRuntimeGetVersion(&version));
  EXPECT_TRUE(version == 12000 || version == 13000);
  CHECK_RT(cudaDriverGetVersion(&version));
  EXPECT_EQ(version, 13000);
}

TEST(Runtime, FirstCallMakesThePrimaryContext) {
  const auto get_memory = reinterpret_cast<decltype(&simcuda_get_memory)>(
      dlsym(dlopen("libcuda.so.1", RTLD_NOW), "simcuda_get_memory"));
  ASSERT_NE(get_memory, nullptr);
  simcuda_memory memory = {};
  memory.size = sizeof(memory);
  int count = 0;
  CHECK_RT(cudaGetDeviceCount(&count));
  EXPECT_EQ(count, 2);
  get_memory(0, &memory);
  EXPECT_EQ(memory.context_bytes, 0u);
  CHECK_RT(cudaFree(nullptr));
  get_memory(0, &memory);
  EXPECT_EQ(memory.context_bytes, 64 * kMiB);
  CHECK_RT(cudaDeviceReset());
  get_memory(0, &memory);
  EXPECT_EQ(memory.context_bytes, 0u);
}

TEST(Runtime, MemoryOfEveryKind) {
  size_t before = 0;
  size_t total = 0;
  CHECK_RT(cudaMemGetInfo(&before, &total));
  void* linear = nullptr;
  CHECK_RT(cudaMalloc(&linear, 3 * kMiB));
  void* pitched = nullptr;
  size_t pitch = 0;
  CHECK_RT(cudaMallocPitch(&pitched, &pitch, 100, 30));
  EXPECT_EQ(pitch, 512u);
  cudaPitchedPtr box;
  CHECK_RT(cudaMalloc3D(&box, {100, 10, 10}));
  EXPECT_EQ(box.pitch, 512u);
  EXPECT_EQ(box.ysize, 10u);
  void* managed = nullptr;
  CHECK_RT(cudaMallocManaged(&managed, 1000, cudaMemAttachGlobal));
  void* pinned = nullptr;
  CHECK_RT(cudaMallocHost(&pinned, 1000));
  void* ordered = nullptr;
  CHECK_RT(cudaMallocAsync(&ordered, 1000, nullptr));
  const std::pair<void*, cudaMemoryType> kinds[] = {
      {linear, cudaMemoryTypeDevice},   {pitched, cudaMemoryTypeDevice},
      {managed, cudaMemoryTypeManaged}, {pinned, cudaMemoryTypeHost},
      {ordered, cudaMemoryTypeDevice},  {&before, cudaMemoryTypeUnregistered}};
  for (const auto& [pointer, type] : kinds) {
    cudaPointerAttributes attributes;
    CHECK_RT(cudaPointerGetAttributes(&attributes, pointer));
    EXPECT_EQ(attributes.type, type);
  }
  CHECK_RT(cudaFree(linear));
  CHECK_RT(cudaFree(pitched));
  CHECK_RT(cudaFree(box.ptr));
  CHECK_RT(cudaFree(managed));
  CHECK_RT(cudaFreeHost(pinned));
  CHECK_RT(cudaFreeAsync(ordered, nullptr));
  CHECK_RT(cudaDeviceSynchronize());
  size_t after = 0;
  CHECK_RT(cudaMemGetInfo(&after, &total));
  EXPECT_EQ(after, before);
}

TEST(Runtime, ErrorsStickUntilTheyAreTaken) {
  void* pointer = nullptr;
  EXPECT_EQ(cudaErrorMemoryAllocation, cudaMalloc(&pointer, size_t{5} << 30));
  EXPECT_EQ(pointer, nullptr);
  CHECK_RT(cudaMalloc(&pointer, 10));
  EXPECT_EQ(cudaErrorMemoryAllocation, cudaPeekAtLastError());
  EXPECT_EQ(cudaErrorMemoryAllocation, cudaGetLastError());
  EXPECT_EQ(cudaSuccess, cudaGetLastError());
  EXPECT_STREQ(cudaGetErrorName(cudaErrorMemoryAllocation), "cudaErrorMemoryAllocation");
  EXPECT_STREQ(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory");
  std::thread([] { EXPECT_EQ(cudaSuccess, cudaGetLastError()); }).join();
  CHECK_RT(cudaFree(pointer));
  EXPECT_EQ(cudaErrorInvalidValue, cudaFree(pointer));
}

TEST(Runtime, DevicesAreChosenPerThread) {
  CHECK_RT(cudaSetDevice(1));
  std::thread([] {
    int device = -1;
    EXPECT_EQ(cudaSuccess, cudaGetDevice(&device));
    EXPECT_EQ(device, 0);
  }).join();
  void* there = nullptr;
  CHECK_RT(cudaMalloc(&there, 100));
  cudaPointerAttributes attributes;
  CHECK_RT(cudaPointerGetAttributes(&attributes, there));
  EXPECT_EQ(attributes.device, 1);
  CHECK_RT(cudaSetDevice(0));
  CHECK_RT(cudaDeviceEnablePeerAccess(1, 0));
  EXPECT_EQ(cudaErrorPeerAccessAlreadyEnabled, cudaDeviceEnablePeerAccess(1, 0));
  CHECK_RT(cudaFree(there));
  EXPECT_EQ(cudaErrorInvalidDevice, cudaSetDevice(2));
}

TEST(Runtime, ResetStartsAfresh) {
  void* before = nullptr;
  CHECK_RT(cudaMalloc(&before, kMiB));
  std::atomic<int> stage{0};
  std::thread other([&] {
    void* mine = nullptr;
    EXPECT_EQ(cudaSuccess, cudaMalloc(&mine, 10));
    stage = 1;
    while (stage != 2) std::this_thread::yield();
    // The context was destroyed; the next call creates a new one.
    EXPECT_EQ(cudaSuccess, cudaMalloc(&mine, 10));
    EXPECT_EQ(cudaSuccess, cudaFree(mine));
  });
  while (stage != 1) std::this_thread::yield();
  CHECK_RT(cudaDeviceReset());
  stage = 2;
  other.join();
  EXPECT_EQ(cudaErrorInvalidValue, cudaFree(before));
}

TEST(Runtime, PropertiesMatchAttributes) {
  // Only the fields before the first difference between the structs of versions 12 and 13.
  alignas(16) char storage[4096] = {};
  auto* properties = reinterpret_cast<cudaDeviceProp*>(storage);
  CHECK_RT(cudaGetDeviceProperties(properties, 1));
  EXPECT_STREQ(properties->name, "memprof stand-in GPU");
  EXPECT_EQ(properties->totalGlobalMem, size_t{1} << 30);
  EXPECT_EQ(properties->warpSize, 32);
  EXPECT_EQ(properties->maxThreadsPerBlock, 1024);
  EXPECT_EQ(cudaErrorInvalidDevice, cudaGetDeviceProperties(properties, 2));
}

TEST(Runtime, BoxesAndRectangles) {
  cudaPitchedPtr box;
  CHECK_RT(cudaMalloc3D(&box, {8, 4, 3}));
  std::vector<unsigned char> host(8 * 4 * 3);
  for (size_t i = 0; i < host.size(); ++i) host[i] = static_cast<unsigned char>(i);
  cudaMemcpy3DParms copy = {};
  copy.srcPtr = {host.data(), 8, 8, 4};
  copy.dstPtr = box;
  copy.extent = {8, 4, 3};
  copy.kind = cudaMemcpyHostToDevice;
  CHECK_RT(cudaMemcpy3D(&copy));
  std::vector<unsigned char> read(4 * 3);
  // The first column of all rows.
  CHECK_RT(cudaMemcpy2D(read.data(), 1, box.ptr, box.pitch, 1, 12, cudaMemcpyDeviceToHost));
  for (size_t row = 0; row < 12; ++row) EXPECT_EQ(read[row], row * 8);
  EXPECT_EQ(cudaErrorInvalidPitchValue,
            cudaMemcpy2D(read.data(), 1, box.ptr, box.pitch, 2, 1, cudaMemcpyDeviceToHost));
  CHECK_RT(cudaMemset2D(box.ptr, box.pitch, 7, 8, 12));
  CHECK_RT(cudaMemcpy2D(read.data(), 1, box.ptr, box.pitch, 1, 12, cudaMemcpyDeviceToHost));
  EXPECT_EQ(read, std::vector<unsigned char>(12, 7));
  CHECK_RT(cudaFree(box.ptr));
}

TEST(Runtime, Arrays) {
  const cudaChannelFormatDesc channel = {32, 0, 0, 0, cudaChannelFormatKindFloat};
  cudaArray_t array = nullptr;
  CHECK_RT(cudaMallocArray(&array, &channel, 16, 4, 0));
  std::vector<float> host(64, 1.5F);
  std::vector<float> read(64);
  CHECK_RT(cudaMemcpy2DToArray(array, 0, 0, host.data(), 64, 64, 4, cudaMemcpyHostToDevice));
  CHECK_RT(cudaMemcpy2DFromArray(read.data(), 64, array, 0, 0, 64, 4, cudaMemcpyDeviceToHost));
  EXPECT_EQ(read, host);
  cudaChannelFormatDesc got = {};
  cudaExtent extent = {};
  CHECK_RT(cudaArrayGetInfo(&got, &extent, nullptr, array));
  EXPECT_EQ(got.x, 32);
  EXPECT_EQ(got.f, cudaChannelFormatKindFloat);
  EXPECT_EQ(extent.width, 16u);
  CHECK_RT(cudaFreeArray(array));
}

TEST(Runtime, StreamsAndEvents) {
  cudaStream_t stream = nullptr;
  CHECK_RT(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  cudaEvent_t first = nullptr;
  cudaEvent_t last = nullptr;
  CHECK_RT(cudaEventCreate(&first));
  CHECK_RT(cudaEventCreate(&last));
  CHECK_RT(cudaEventRecord(first, stream));
  std::atomic<int> ran{0};
  CHECK_RT(cudaLaunchHostFunc(
      stream, [](void* data) { ++*static_cast<std::atomic<int>*>(data); }, &ran));
  CHECK_RT(cudaStreamAddCallback(
      stream,
      [](cudaStream_t, cudaError_t error, void* data) {
        if (error == cudaSuccess) ++*static_cast<std::atomic<int>*>(data);
      },
      &ran, 0));
  CHECK_RT(cudaEventRecord(last, stream));
  CHECK_RT(cudaEventSynchronize(last));
  EXPECT_EQ(ran, 2);
  float milliseconds = -1;
  CHECK_RT(cudaEventElapsedTime(&milliseconds, first, last));
  EXPECT_GE(milliseconds, 0);
  CHECK_RT(cudaEventDestroy(first));
  CHECK_RT(cudaEventDestroy(last));
  CHECK_RT(cudaStreamDestroy(stream));
}

}  // namespace
