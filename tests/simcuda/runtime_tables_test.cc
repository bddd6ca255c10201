// Tables of values of the stand-in cudart: pitches; flags of host memory, streams and events;
// attributes of devices against the driver's. Linked against versions 12 and 13.
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdint>

#include "tests/simcuda/runtime_fixture.h"

namespace {

SIMCUDA_CONFIGURE("memory=1GiB,overhead=0,devices=2");

template <class Function>
Function Driver(const char* name) {
  return reinterpret_cast<Function>(dlsym(dlopen("libcuda.so.1", RTLD_NOW), name));
}

TEST(RuntimeTables, PitchesHoldTheirRowsAndAreAligned) {
  for (const size_t width : {1, 4, 511, 512, 513, 1000, 4096, 100000}) {
    for (const size_t height : {1, 2, 7}) {
      void* flat = nullptr;
      size_t pitch = 0;
      CHECK_RT(cudaMallocPitch(&flat, &pitch, width, height));
      EXPECT_EQ(pitch % 512, 0u);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(flat) % 512, 0u);
      CHECK_RT(cudaMemset2D(flat, pitch, 3, width, height));
      EXPECT_EQ(cudaErrorInvalidValue, cudaMemset2D(flat, pitch, 3, pitch, height + 1));
      CHECK_RT(cudaFree(flat));
      cudaPitchedPtr box = {};
      CHECK_RT(cudaMalloc3D(&box, {width, height, 3}));
      EXPECT_EQ(box.pitch, pitch);
      EXPECT_EQ(box.xsize, width);
      EXPECT_EQ(box.ysize, height);
      CHECK_RT(cudaMemset3D(box, 7, {width, height, 3}));
      unsigned char last = 0;
      const auto* bytes = static_cast<const unsigned char*>(box.ptr);
      CHECK_RT(cudaMemcpy(&last, bytes + pitch * (height * 3 - 1) + width - 1, 1,
                          cudaMemcpyDeviceToHost));
      EXPECT_EQ(last, 7);
      CHECK_RT(cudaFree(box.ptr));
    }
  }
  void* none = &none;
  size_t pitch = 9;
  CHECK_RT(cudaMallocPitch(&none, &pitch, 0, 5));
  EXPECT_EQ(none, nullptr);
  EXPECT_EQ(cudaErrorInvalidValue, cudaMallocPitch(nullptr, &pitch, 5, 5));
  EXPECT_EQ(cudaErrorInvalidValue, cudaMalloc3D(nullptr, {1, 1, 1}));
  cudaPitchedPtr box = {};
  EXPECT_EQ(cudaErrorInvalidValue, cudaMalloc3D(&box, {1, ~size_t{0}, 3}));
  EXPECT_EQ(cudaErrorMemoryAllocation, cudaMalloc3D(&box, {1 << 20, 1 << 10, 2}));
  EXPECT_EQ(cudaErrorMemoryAllocation, cudaGetLastError());
}

TEST(RuntimeTables, FlagsOfHostMemory) {
  for (unsigned flags = 0; flags < 10; ++flags) {
    void* pinned = nullptr;
    const cudaError_t result = cudaHostAlloc(&pinned, 100, flags);
    EXPECT_EQ(result, flags < 8 ? cudaSuccess : cudaErrorInvalidValue) << flags;
    if (result != cudaSuccess) continue;
    unsigned got = 0;
    CHECK_RT(cudaHostGetFlags(&got, pinned));
    EXPECT_EQ(got, flags | cudaHostAllocMapped);
    void* device = nullptr;
    CHECK_RT(cudaHostGetDevicePointer(&device, pinned, 0));
    EXPECT_EQ(device, pinned);
    CHECK_RT(cudaFreeHost(pinned));
  }
  static_cast<void>(cudaGetLastError());
}

TEST(RuntimeTables, FlagsOfStreamsAndEvents) {
  for (const unsigned flags : {cudaStreamDefault, cudaStreamNonBlocking, 2, 64}) {
    cudaStream_t stream = nullptr;
    const cudaError_t result = cudaStreamCreateWithFlags(&stream, flags);
    EXPECT_EQ(result, flags < 2 ? cudaSuccess : cudaErrorInvalidValue) << flags;
    if (result != cudaSuccess) continue;
    unsigned got = 99;
    CHECK_RT(cudaStreamGetFlags(stream, &got));
    EXPECT_EQ(got, flags);
    CHECK_RT(cudaStreamDestroy(stream));
  }
  for (unsigned flags = 0; flags < 9; ++flags) {
    cudaEvent_t event = nullptr;
    const bool shared_and_timed = (flags & 6) == cudaEventInterprocess;
    EXPECT_EQ(cudaEventCreateWithFlags(&event, flags),
              flags < 8 && !shared_and_timed ? cudaSuccess : cudaErrorInvalidValue)
        << flags;
    if (event != nullptr) {
      EXPECT_EQ(cudaSuccess, cudaEventDestroy(event));
    }
  }
  static_cast<void>(cudaGetLastError());
}

TEST(RuntimeTables, AttributesAreTheDrivers) {
  int count = 0;
  CHECK_RT(cudaGetDeviceCount(&count));
  ASSERT_EQ(count, 2);
  const auto driver = Driver<decltype(&cuDeviceGetAttribute)>("cuDeviceGetAttribute");
  ASSERT_NE(driver, nullptr);
  for (int device = 0; device < count; ++device) {
    for (int number = 1; number < 120; ++number) {
      int expected = -7;
      int got = -7;
      const CUresult known = driver(&expected, static_cast<CUdevice_attribute>(number), device);
      const cudaError_t result =
          cudaDeviceGetAttribute(&got, static_cast<cudaDeviceAttr>(number), device);
      EXPECT_EQ(known == CUDA_SUCCESS, result == cudaSuccess) << number;
      EXPECT_EQ(expected, got) << number;
    }
  }
}

}  // namespace
