// Injected faults.
#include "driver_fixture.h"

namespace memprof::simcuda {
namespace {

SIMCUDA_CONFIGURE(
    "memory=1GiB,fail=cuMemAlloc_v2:2,fail=cuMemAlloc_v2:4:999,fail=cuStreamCreate:1:304");

using FaultTest = DriverTest;

TEST_F(FaultTest, TheNthCallFails) {
  CUdeviceptr address[3] = {};
  CHECK_CU(cuMemAlloc(&address[0], 100));
  EXPECT_EQ(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&address[1], 100));
  CHECK_CU(cuMemAlloc(&address[1], 100));
  EXPECT_EQ(CUDA_ERROR_UNKNOWN, cuMemAlloc(&address[2], 100));
  CHECK_CU(cuMemAlloc(&address[2], 100));
  EXPECT_EQ(Memory().live_allocations, 3u);
  // Each function has its own count.
  CUstream stream = nullptr;
  EXPECT_EQ(CUDA_ERROR_OPERATING_SYSTEM, cuStreamCreate(&stream, 0));
  CHECK_CU(cuStreamCreate(&stream, 0));
}

}  // namespace
}  // namespace memprof::simcuda
