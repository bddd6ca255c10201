// async=0, an old driver version, and no devices.
#include <pthread.h>

#include "driver_fixture.h"

namespace memprof::simcuda {
namespace {

SIMCUDA_CONFIGURE("memory=1GiB,async=0,version=12010");

using SynchronousTest = DriverTest;

TEST_F(SynchronousTest, EverythingRunsOnTheCallingThread) {
  CUstream stream = nullptr;
  CHECK_CU(cuStreamCreate(&stream, 0));
  pthread_t ran_on = 0;
  CHECK_CU(cuLaunchHostFunc(
      stream, [](void* data) { *static_cast<pthread_t*>(data) = pthread_self(); }, &ran_on));
  // The function has already run.
  EXPECT_EQ(ran_on, pthread_self());
  EXPECT_EQ(CUDA_SUCCESS, cuStreamQuery(stream));
  CUdeviceptr block = 0;
  CHECK_CU(cuMemAllocAsync(&block, 100, stream));
  CHECK_CU(cuMemsetD8Async(block, 3, 100, stream));
  EXPECT_EQ(*reinterpret_cast<unsigned char*>(block + 99), 3);
  CHECK_CU(cuMemFreeAsync(block, stream));
}

TEST_F(SynchronousTest, HostFunctionsThatCallAgainDoNotHang) {
  CUstream stream = nullptr;
  CHECK_CU(cuStreamCreate(&stream, 0));
  struct Data {
    CUstream stream;
    int ran = 0;
  } data = {stream, 0};
  CHECK_CU(cuLaunchHostFunc(
      stream,
      [](void* pointer) {
        auto* outer = static_cast<Data*>(pointer);
        ++outer->ran;
        cuLaunchHostFunc(
            outer->stream, [](void* inner) { ++static_cast<Data*>(inner)->ran; }, outer);
      },
      &data));
  CHECK_CU(cuStreamSynchronize(stream));
  EXPECT_EQ(data.ran, 2);
}

// Work on any stream is complete when the call that enqueues it returns.
TEST_F(SynchronousTest, NothingIsEverPending) {
  CUstream streams[3] = {};
  CHECK_CU(cuStreamCreate(&streams[1], CU_STREAM_DEFAULT));
  CHECK_CU(cuStreamCreate(&streams[2], CU_STREAM_NON_BLOCKING));
  CUdeviceptr block = 0;
  CHECK_CU(cuMemAlloc(&block, 4096));
  CUevent event = nullptr;
  CHECK_CU(cuEventCreate(&event, 0));
  unsigned value = 0;
  const auto* first = reinterpret_cast<const unsigned*>(block);
  for (const CUstream stream : streams) {
    CHECK_CU(cuMemsetD32Async(block, ++value, 1024, stream));
    EXPECT_EQ(first[1023], value);
    CHECK_CU(cuEventRecord(event, stream));
    EXPECT_EQ(CUDA_SUCCESS, cuEventQuery(event));
    for (const CUstream other : streams) {
      CHECK_CU(cuStreamWaitEvent(other, event, 0));
      EXPECT_EQ(CUDA_SUCCESS, cuStreamQuery(other));
    }
    ++value;
    CHECK_CU(cuMemcpyHtoDAsync(block, &value, 4, stream));
    EXPECT_EQ(first[0], value);
    unsigned read = 0;
    CHECK_CU(cuMemcpyDtoHAsync(&read, block, 4, stream));
    EXPECT_EQ(read, value);
    CHECK_CU(cuMemcpyDtoDAsync(block + 64, block, 4, stream));
    EXPECT_EQ(first[16], value);
    int called = 0;
    CHECK_CU(cuStreamAddCallback(
        stream, [](CUstream, CUresult, void* data) { ++*static_cast<int*>(data); }, &called, 0));
    EXPECT_EQ(called, 1);
  }
  CHECK_CU(cuMemFree(block));
}

TEST_F(SynchronousTest, VersionLimitsProcAddresses) {
  int version = 0;
  CHECK_CU(cuDriverGetVersion(&version));
  EXPECT_EQ(version, 12010);
  void* function = nullptr;
  CHECK_CU(cuGetProcAddress_v2("cuMemAlloc", &function, 12010, 0, nullptr));
  EXPECT_NE(function, nullptr);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
            cuGetProcAddress_v2("cuMemAlloc", &function, 12020, 0, nullptr));
}

}  // namespace
}  // namespace memprof::simcuda
