// async=0, an old driver version, and no devices: configurations that change how things go.
#include <pthread.h>

#include "driver_fixture.h"

namespace memprof::simcuda {
namespace {

const Configure kConfigure("memory=1GiB,async=0,version=12010");

using SynchronousTest = DriverTest;

TEST_F(SynchronousTest, EverythingRunsOnTheCallingThread) {
  CUstream stream = nullptr;
  CHECK_CU(cuStreamCreate(&stream, 0));
  pthread_t ran_on = 0;
  CHECK_CU(cuLaunchHostFunc(
      stream, [](void* data) { *static_cast<pthread_t*>(data) = pthread_self(); }, &ran_on));
  // Already done.
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
