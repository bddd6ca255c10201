// Stream-ordered allocation and pools.
#include <atomic>
#include <map>
#include <random>
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
  // High-water marks go back to what is current, and to nothing else; the current values are facts.
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
    // The free has happened; whether that may be noticed without a synchronisation is the policy.
    CHECK_CU(cuMemAllocAsync(&second, 32 * kMiB, other));
    EXPECT_EQ(first == second, opportunistic == 1);
    CHECK_CU(cuMemFreeAsync(second, other));
    CHECK_CU(cuCtxSynchronize());
    // After one, everybody may have it.
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

// Random allocations and frees on two streams: what is used is the sum of what is live, nothing
// overlaps, and everything comes back.
TEST_F(PoolTest, RandomTrafficKeepsTheAccounts) {
  CUstream streams[2] = {stream_, nullptr};
  CHECK_CU(cuStreamCreate(&streams[1], CU_STREAM_NON_BLOCKING));
  std::mt19937 random(4);
  std::map<CUdeviceptr, size_t> live;
  cuuint64_t used = 0;
  cuuint64_t high = Used();
  cuuint64_t none = 0;
  CHECK_CU(cuMemPoolSetAttribute(pool_, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &none));
  for (int round = 0; round < 1500; ++round) {
    const CUstream stream = streams[random() % 2];
    if (live.size() < 30 && random() % 2 == 0) {
      const size_t bytes = 1 + random() % (random() % 4 == 0 ? 40 * kMiB : 100 * kKiB);
      const size_t granted = (bytes + 511) / 512 * 512;
      CUdeviceptr address = 0;
      const CUresult result = cuMemAllocAsync(&address, bytes, stream);
      if (result == CUDA_ERROR_OUT_OF_MEMORY) continue;
      CHECK_CU(result);
      const auto next = live.lower_bound(address);
      if (next != live.end()) {
        ASSERT_LE(address + granted, next->first);
      }
      if (next != live.begin()) {
        const auto before = std::prev(next);
        ASSERT_LE(before->first + before->second, address);
      }
      live[address] = granted;
      used += granted;
      high = std::max(high, used);
    } else if (!live.empty()) {
      auto victim = live.begin();
      std::advance(victim, static_cast<std::ptrdiff_t>(random() % live.size()));
      CHECK_CU(cuMemFreeAsync(victim->first, stream));
      used -= victim->second;
      live.erase(victim);
    }
    ASSERT_EQ(Used(), used);
    ASSERT_EQ(Get(CU_MEMPOOL_ATTR_USED_MEM_HIGH), high);
    ASSERT_GE(Reserved(), used);
    ASSERT_EQ(Memory().pool_reserved_bytes, Reserved());
  }
  for (const auto& [address, bytes] : live) CHECK_CU(cuMemFreeAsync(address, stream_));
  CHECK_CU(cuCtxSynchronize());
  EXPECT_EQ(Used(), 0u);
  EXPECT_EQ(Reserved(), 0u);
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
