// Stream-ordered allocation: what pools reserve, reuse and return.
#include <atomic>
#include <map>
#include <random>
#include <thread>

#include "tests/simcuda/pool_fixture.h"

namespace memprof::simcuda {
namespace {

SIMCUDA_CONFIGURE("memory=1GiB,overhead=0");

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
  // cuMemFree also frees a stream-ordered block.
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
  // Another stream must not get the block: the free is not complete for that stream.
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
  // 34 MiB are free: a small request reserves a 32 MiB chunk, the next one only what it needs.
  CHECK_CU(cuMemAllocAsync(&block, 512, stream_));
  EXPECT_EQ(Reserved(), 32 * kMiB);
  CUdeviceptr big = 0;
  EXPECT_EQ(CUDA_ERROR_OUT_OF_MEMORY, cuMemAllocAsync(&big, 33 * kMiB, stream_));
  EXPECT_EQ(Used(), 512u);
  CHECK_CU(cuMemFreeAsync(block, stream_));
  CHECK_CU(cuMemAllocAsync(&big, 33 * kMiB, stream_));
  EXPECT_EQ(Reserved(), 34 * kMiB);
  CHECK_CU(cuMemFreeAsync(big, stream_));
  // Unused memory of the pool is released when another allocation needs it.
  CUdeviceptr more = 0;
  CHECK_CU(cuStreamQuery(stream_));
  CHECK_CU(cuMemAlloc(&more, 34 * kMiB));
  CHECK_CU(cuMemFree(more));
  CHECK_CU(cuMemFree(linear));
}

// Random allocations and frees on two streams: used memory is the sum of live blocks, no blocks
// overlap, and at the end all memory is free.
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
