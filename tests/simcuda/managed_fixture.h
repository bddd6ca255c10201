// Managed memory, and the locations of its pages.
#pragma once

#include "driver_fixture.h"

namespace memprof::simcuda {

inline constexpr size_t kPage = 2 * kMiB;

inline CUmemLocation On(int device) { return {CU_MEM_LOCATION_TYPE_DEVICE, {device}}; }
inline CUmemLocation OnHost() { return {CU_MEM_LOCATION_TYPE_HOST, {0}}; }

class ManagedTest : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    CHECK_CU(cuMemAllocManaged(&block_, 8 * kPage, CU_MEM_ATTACH_GLOBAL));
    CHECK_CU(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
  }
  void TearDown() override {
    CHECK_CU(cuMemFree(block_));
    EXPECT_EQ(Memory(1).managed_bytes, 0u);
    DriverTest::TearDown();
  }
  CUresult Prefetch(size_t page, size_t pages, CUmemLocation location) {
    return cuMemPrefetchAsync(block_ + page * kPage, pages * kPage, location, 0, stream_);
  }
  int Ask(CUmem_range_attribute attribute, size_t page, size_t pages) {
    int value = 12345;
    EXPECT_EQ(CUDA_SUCCESS, cuMemRangeGetAttribute(&value, sizeof(value), attribute,
                                                   block_ + page * kPage, pages * kPage));
    return value;
  }
  CUdeviceptr block_ = 0;
  CUstream stream_ = nullptr;
};

}  // namespace memprof::simcuda
