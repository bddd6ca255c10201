// Fixture for tests of the driver: device 0's primary context is current, and all memory must be
// freed at the end.
#ifndef TESTS_SIMCUDA_DRIVER_FIXTURE_H
#define TESTS_SIMCUDA_DRIVER_FIXTURE_H

#include <cuda.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "simcuda/simcuda.h"
#include "tests/simcuda/configure.h"

#define CHECK_CU(call) ASSERT_EQ(CUDA_SUCCESS, (call))

namespace memprof::simcuda {

constexpr size_t kKiB = size_t{1} << 10;
constexpr size_t kMiB = size_t{1} << 20;
constexpr size_t kGiB = size_t{1} << 30;

inline simcuda_memory Memory(int device = 0) {
  simcuda_memory memory = {};
  memory.size = sizeof(memory);
  EXPECT_EQ(0, simcuda_get_memory(device, &memory));
  // The categories add up to the capacity.
  EXPECT_EQ(memory.capacity_bytes, memory.free_bytes + memory.context_bytes + memory.linear_bytes +
                                       memory.array_bytes + memory.managed_bytes +
                                       memory.pool_reserved_bytes + memory.vmm_bytes +
                                       memory.graph_bytes + memory.other_bytes + memory.code_bytes);
  return memory;
}

class DriverTest : public testing::Test {
 protected:
  void SetUp() override {
    CHECK_CU(cuInit(0));
    CHECK_CU(cuDevicePrimaryCtxRetain(&context_, 0));
    CHECK_CU(cuCtxSetCurrent(context_));
  }
  void TearDown() override {
    CHECK_CU(cuDevicePrimaryCtxReset(0));
    CHECK_CU(cuCtxSetCurrent(nullptr));
    CUmemoryPool pool = nullptr;
    CHECK_CU(cuDeviceGetDefaultMemPool(&pool, 0));
    CHECK_CU(cuMemPoolTrimTo(pool, 0));
    const simcuda_memory memory = Memory();
    EXPECT_EQ(memory.free_bytes, memory.capacity_bytes);
    EXPECT_EQ(memory.live_allocations, 0u);
  }
  CUcontext context_ = nullptr;
};

}  // namespace memprof::simcuda

#endif  // TESTS_SIMCUDA_DRIVER_FIXTURE_H
