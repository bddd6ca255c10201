// The default pool of device 0 with release threshold 0, and a stream.
#pragma once

#include "driver_fixture.h"

namespace memprof::simcuda {

class PoolTest : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    CHECK_CU(cuDeviceGetDefaultMemPool(&pool_, 0));
    cuuint64_t threshold = 0;
    CHECK_CU(cuMemPoolSetAttribute(pool_, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
    CHECK_CU(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
  }
  cuuint64_t Get(CUmemPool_attribute attribute) {
    cuuint64_t value = 0;
    EXPECT_EQ(CUDA_SUCCESS, cuMemPoolGetAttribute(pool_, attribute, &value));
    return value;
  }
  cuuint64_t Reserved() { return Get(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT); }
  cuuint64_t Used() { return Get(CU_MEMPOOL_ATTR_USED_MEM_CURRENT); }

  CUmemoryPool pool_ = nullptr;
  CUstream stream_ = nullptr;
};

}  // namespace memprof::simcuda
