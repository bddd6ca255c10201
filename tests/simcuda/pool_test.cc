// Stream-ordered allocation and pools.
#include <atomic>
#include <thread>
#include <vector>

#include "driver_fixture.h"

namespace memprof::simcuda {
namespace {

const Configure kConfigure("memory=1GiB,overhead=0");

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

TEST_F(PoolTest, ReservesInChunksAndReturnsThemAtSynchronisation) {
  CUdeviceptr address = 0;
  CHECK_CU(cuMemAllocAsync(&address, 1000, stream_));
  EXPECT_EQ(Reserved(), 32 * kMiB);
  EXPECT_EQ(Used(), 1024u);
  EXPECT_EQ(Memory().pool_reserved_bytes, 32 * kMiB);
  CHECK_CU(cuMemFreeAsync(address, stream_));
  EXPECT_EQ(Used(), 0u);
  EXPECT_EQ(Reserved(), 32 * kMiB);
  CHECK_CU(cuStreamSynchronize(stream_));
  EXPECT_EQ(Reserved(), 0u);
  EXPECT_EQ(Memory().free_bytes, kGiB);
  EXPECT_EQ(Get(CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH), 32 * kMiB);
  EXPECT_EQ(Get(CU_MEMPOOL_ATTR_USED_MEM_HIGH), 1024u);
  cuuint64_t zero = 0;
  CHECK_CU(cuMemPoolSetAttribute(pool_, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &zero));
  EXPECT_EQ(Get(CU_MEMPOOL_ATTR_USED_MEM_HIGH), 0u);
  CHECK_CU(cuMemPoolSetAttribute(pool_, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &zero));
}

TEST_F(PoolTest, ThresholdKeepsMemory) {
  cuuint64_t threshold = 40 * kMiB;
  CHECK_CU(cuMemPoolSetAttribute(pool_, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
  CUdeviceptr blocks[3];
  for (CUdeviceptr& block : blocks) CHECK_CU(cuMemAllocAsync(&block, 32 * kMiB, stream_));
  EXPECT_EQ(Reserved(), 96 * kMiB);
  for (const CUdeviceptr block : blocks) CHECK_CU(cuMemFreeAsync(block, stream_));
  CHECK_CU(cuCtxSynchronize());
  EXPECT_EQ(Reserved(), 32 * kMiB);
  CHECK_CU(cuMemPoolTrimTo(pool_, 1));
  EXPECT_EQ(Reserved(), 0u);
}

TEST_F(PoolTest, UsedChunksStay) {
  CUdeviceptr first = 0;
  CUdeviceptr second = 0;
  CHECK_CU(cuMemAllocAsync(&first, 20 * kMiB, stream_));
  CHECK_CU(cuMemAllocAsync(&second, 20 * kMiB, stream_));
  EXPECT_EQ(Reserved(), 64 * kMiB);
  CHECK_CU(cuMemFreeAsync(first, stream_));
  CHECK_CU(cuStreamSynchronize(stream_));
  EXPECT_EQ(Reserved(), 32 * kMiB);
  // A stream-ordered block may be freed the plain way too.
  CHECK_CU(cuMemFree(second));
  EXPECT_EQ(Used(), 0u);
  CHECK_CU(cuMemPoolTrimTo(pool_, 0));
  EXPECT_EQ(Reserved(), 0u);
}

TEST_F(PoolTest, SameStreamReusesAtOnce) {
  CUdeviceptr first = 0;
  CUdeviceptr second = 0;
  std::atomic<bool> go{false};
  CHECK_CU(cuLaunchHostFunc(
      stream_,
      [](void* flag) {
        while (!static_cast<std::atomic<bool>*>(flag)->load()) std::this_thread::yield();
      },
      &go));
  CHECK_CU(cuMemAllocAsync(&first, 10 * kMiB, stream_));
  CHECK_CU(cuMemFreeAsync(first, stream_));
  CHECK_CU(cuMemAllocAsync(&second, 10 * kMiB, stream_));
  EXPECT_EQ(first, second);
  // Another stream must not have it: the free has not happened there.
  CUstream other = nullptr;
  CHECK_CU(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
  CHECK_CU(cuMemFreeAsync(second, stream_));
  CUdeviceptr third = 0;
  CHECK_CU(cuMemAllocAsync(&third, 10 * kMiB, other));
  EXPECT_NE(third, second);
  go = true;
  CHECK_CU(cuStreamSynchronize(stream_));
  CUdeviceptr fourth = 0;
  CHECK_CU(cuMemAllocAsync(&fourth, 10 * kMiB, other));
  EXPECT_EQ(fourth, second);
  CHECK_CU(cuMemFreeAsync(third, other));
  CHECK_CU(cuMemFreeAsync(fourth, other));
  CHECK_CU(cuStreamSynchronize(other));
}

TEST_F(PoolTest, PoolAndLinearShareTheCapacity) {
  CUdeviceptr linear = 0;
  CHECK_CU(cuMemAlloc(&linear, 990 * kMiB));
  CUdeviceptr block = 0;
  // 34 MiB are left: a small request takes its 32 MiB chunk, the next what it needs.
  CHECK_CU(cuMemAllocAsync(&block, 512, stream_));
  EXPECT_EQ(Reserved(), 32 * kMiB);
  CUdeviceptr big = 0;
  EXPECT_EQ(CUDA_ERROR_OUT_OF_MEMORY, cuMemAllocAsync(&big, 33 * kMiB, stream_));
  EXPECT_EQ(Used(), 512u);
  CHECK_CU(cuMemFreeAsync(block, stream_));
  CHECK_CU(cuMemAllocAsync(&big, 33 * kMiB, stream_));
  EXPECT_EQ(Reserved(), 34 * kMiB);
  CHECK_CU(cuMemFreeAsync(big, stream_));
  // What the pool does not use goes to who needs it.
  CUdeviceptr more = 0;
  CHECK_CU(cuStreamQuery(stream_));
  CHECK_CU(cuMemAlloc(&more, 34 * kMiB));
  CHECK_CU(cuMemFree(more));
  CHECK_CU(cuMemFree(linear));
}

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
  // Destroyed with a block in use: the memory goes back with the block.
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

TEST_F(PoolTest, LinearMemoryMayBeFreedInStreamOrder) {
  CUdeviceptr block = 0;
  CHECK_CU(cuMemAlloc(&block, 4 * kMiB));
  CHECK_CU(cuMemFreeAsync(block, stream_));
  CHECK_CU(cuStreamSynchronize(stream_));
  EXPECT_EQ(Memory().linear_bytes, 0u);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemFreeAsync(block, stream_));
}

}  // namespace
}  // namespace memprof::simcuda
