// Pools created by the program: properties, attributes, policies, maximum sizes.

#include "tests/simcuda/pool_fixture.h"

namespace memprof::simcuda {
namespace {

SIMCUDA_CONFIGURE("memory=1GiB,overhead=0");

TEST_F(PoolTest, OwnPools) {
  CUmemPoolProps properties = {};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
  CUmemoryPool own = nullptr;
  CHECK_CU(cuMemPoolCreate(&own, &properties));
  CHECK_CU(cuDeviceSetMemPool(0, own));
  CUdeviceptr block = 0;
  CHECK_CU(cuMemAllocAsync(&block, kMiB, stream_));
  CUmemoryPool of_block = nullptr;
  CHECK_CU(cuPointerGetAttribute(&of_block, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, block));
  EXPECT_EQ(of_block, own);
  EXPECT_EQ(Used(), 0u);
  // The pool is destroyed while a block is in use: the memory is freed together with the block.
  CHECK_CU(cuMemPoolDestroy(own));
  CUmemoryPool current = nullptr;
  CHECK_CU(cuDeviceGetMemPool(&current, 0));
  EXPECT_EQ(current, pool_);
  EXPECT_EQ(Memory().pool_reserved_bytes, 32 * kMiB);
  CHECK_CU(cuMemFreeAsync(block, stream_));
  CHECK_CU(cuStreamSynchronize(stream_));
  EXPECT_EQ(Memory().pool_reserved_bytes, 0u);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemPoolDestroy(own));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemPoolDestroy(pool_));
}

TEST_F(PoolTest, AttributesByValue) {
  CUmemPoolProps properties = {};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
  CUmemoryPool own = nullptr;
  CHECK_CU(cuMemPoolCreate(&own, &properties));
  for (const auto policy :
       {CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC,
        CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES}) {
    int value = -1;
    CHECK_CU(cuMemPoolGetAttribute(own, policy, &value));
    EXPECT_EQ(value, 1) << policy;
    value = 0;
    CHECK_CU(cuMemPoolSetAttribute(own, policy, &value));
    value = -1;
    CHECK_CU(cuMemPoolGetAttribute(own, policy, &value));
    EXPECT_EQ(value, 0) << policy;
  }
  cuuint64_t value = 12345;
  CHECK_CU(cuMemPoolSetAttribute(own, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &value));
  value = 0;
  CHECK_CU(cuMemPoolGetAttribute(own, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &value));
  EXPECT_EQ(value, 12345u);
  // High-water marks can only be reset to the current value; current values cannot be set.
  for (const auto mark : {CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, CU_MEMPOOL_ATTR_USED_MEM_HIGH,
                          CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, CU_MEMPOOL_ATTR_USED_MEM_CURRENT}) {
    value = 1;
    EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemPoolSetAttribute(own, mark, &value)) << mark;
  }
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
            cuMemPoolGetAttribute(own, static_cast<CUmemPool_attribute>(99), &value));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
            cuMemPoolSetAttribute(own, static_cast<CUmemPool_attribute>(99), &value));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
            cuMemPoolGetAttribute(own, CU_MEMPOOL_ATTR_USED_MEM_HIGH, nullptr));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
            cuMemPoolGetAttribute(nullptr, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &value));
  CHECK_CU(cuMemPoolDestroy(own));
}

TEST_F(PoolTest, PropertiesAreChecked) {
  CUmemPoolProps good = {};
  good.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  good.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
  CUmemoryPool pool = nullptr;
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemPoolCreate(nullptr, &good));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemPoolCreate(&pool, nullptr));
  CUmemPoolProps bad = good;
  bad.allocType = CU_MEM_ALLOCATION_TYPE_INVALID;
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemPoolCreate(&pool, &bad));
  bad = good;
  bad.location.id = 1;
  EXPECT_EQ(CUDA_ERROR_INVALID_DEVICE, cuMemPoolCreate(&pool, &bad));
  bad = good;
  bad.handleTypes = CU_MEM_HANDLE_TYPE_WIN32;
  EXPECT_EQ(CUDA_ERROR_NOT_SUPPORTED, cuMemPoolCreate(&pool, &bad));
}

TEST_F(PoolTest, ReusePoliciesSayWhatAnotherStreamMayTake) {
  CUstream other = nullptr;
  CHECK_CU(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
  cuuint64_t keep = kGiB;
  CHECK_CU(cuMemPoolSetAttribute(pool_, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
  for (const int opportunistic : {1, 0}) {
    int policy = opportunistic;
    CHECK_CU(cuMemPoolSetAttribute(pool_, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, &policy));
    CUdeviceptr first = 0;
    CUdeviceptr second = 0;
    CHECK_CU(cuMemAllocAsync(&first, 32 * kMiB, stream_));
    CHECK_CU(cuMemFreeAsync(first, stream_));
    // The free has completed. The policy decides whether the pool may use this without a
    // synchronisation.
    CHECK_CU(cuMemAllocAsync(&second, 32 * kMiB, other));
    EXPECT_EQ(first == second, opportunistic == 1);
    CHECK_CU(cuMemFreeAsync(second, other));
    CHECK_CU(cuCtxSynchronize());
    // After a synchronisation any stream may reuse the block.
    CUdeviceptr third = 0;
    CHECK_CU(cuMemAllocAsync(&third, 32 * kMiB, other));
    EXPECT_TRUE(third == first || third == second);
    CHECK_CU(cuMemFreeAsync(third, other));
    CHECK_CU(cuCtxSynchronize());
  }
  int on = 1;
  CHECK_CU(cuMemPoolSetAttribute(pool_, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, &on));
  CHECK_CU(cuMemPoolTrimTo(pool_, 0));
}

#if CUDA_VERSION >= 12020
TEST_F(PoolTest, PoolsKeepToTheirLargestSize) {
  CUmemPoolProps properties = {};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
  properties.maxSize = 40 * kMiB;
  CUmemoryPool own = nullptr;
  CHECK_CU(cuMemPoolCreate(&own, &properties));
  CUdeviceptr first = 0;
  CUdeviceptr second = 0;
  CHECK_CU(cuMemAllocFromPoolAsync(&first, 30 * kMiB, own, stream_));
  EXPECT_EQ(CUDA_ERROR_OUT_OF_MEMORY, cuMemAllocFromPoolAsync(&second, 9 * kMiB, own, stream_));
  CHECK_CU(cuMemAllocFromPoolAsync(&second, 8 * kMiB, own, stream_));
  cuuint64_t reserved = 0;
  CHECK_CU(cuMemPoolGetAttribute(own, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &reserved));
  EXPECT_EQ(reserved, 40 * kMiB);
  CHECK_CU(cuMemFreeAsync(first, stream_));
  CHECK_CU(cuMemFreeAsync(second, stream_));
  CHECK_CU(cuStreamSynchronize(stream_));
  CHECK_CU(cuMemPoolDestroy(own));
}
#endif

}  // namespace
}  // namespace memprof::simcuda
