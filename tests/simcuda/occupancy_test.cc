// How many blocks a multiprocessor takes, by all its limits.
#include <algorithm>
#include <random>

#include "tests/simcuda/occupancy_fixture.h"

namespace memprof::simcuda {
namespace {

SIMCUDA_CONFIGURE("memory=1GiB,overhead=0");

TEST_F(OccupancyTest, ActiveBlocksByTheTightestLimit) {
  const struct {
    int threads;
    size_t shared;
    int blocks;
  } rows[] = {{32, 0, 32},     {64, 0, 32},      {65, 0, 31},     {128, 0, 16},    {1024, 0, 2},
              {1000, 0, 2},    {683, 0, 2},      {682, 0, 3},     {32, 6272, 32},  {32, 6273, 31},
              {32, 100000, 2}, {32, 115712, 2},  {32, 115713, 1}, {1024, 1000, 2}, {32, 232448, 1},
              {32, 232449, 0}, {32, 10000000, 0}};
  for (const auto& row : rows) {
    EXPECT_EQ(Blocks(row.threads, row.shared), row.blocks) << row.threads << ", " << row.shared;
  }
}

TEST_F(OccupancyTest, MoreOfAnythingNeverGivesMoreBlocks) {
  for (int threads = 1; threads < 1024; threads += 31) {
    EXPECT_GE(Blocks(threads, 5000), Blocks(threads + 1, 5000)) << threads;
  }
  for (size_t shared = 0; shared < 240000; shared += 4111) {
    EXPECT_GE(Blocks(64, shared), Blocks(64, shared + 1)) << shared;
  }
}

TEST_F(OccupancyTest, AvailableSharedMemoryIsJustEnough) {
  for (const int threads : {32, 64, 128, 256, 1000}) {
    for (int blocks = 1; blocks <= 33; ++blocks) {
      size_t available = 0;
      const CUresult result =
          cuOccupancyAvailableDynamicSMemPerBlock(&available, idle_, blocks, threads);
      if (Blocks(threads, 0) < blocks) {
        EXPECT_EQ(result, CUDA_ERROR_INVALID_VALUE) << threads << ", " << blocks;
        continue;
      }
      ASSERT_EQ(result, CUDA_SUCCESS);
      EXPECT_GE(Blocks(threads, available), blocks) << threads << ", " << blocks;
      EXPECT_LT(Blocks(threads, available + 1), blocks) << threads << ", " << blocks;
    }
  }
}

TEST_F(OccupancyTest, TheBestBlockSizeIsBestOfAll) {
  static size_t per_thread = 0;
  const CUoccupancyB2DSize shared_for = [](int threads) {
    return static_cast<size_t>(threads) * per_thread;
  };
  std::mt19937 random(3);
  for (int round = 0; round < 60; ++round) {
    const int limit = round == 0 ? 0 : static_cast<int>(random() % 1100);
    per_thread = random() % 3 == 0 ? 0 : random() % 400;
    const int highest = limit == 0 || limit > 1024 ? 1024 : limit;
    int best = 0;
    for (int threads = highest; threads > 0; --threads) {
      if (threads % 32 != 0 && threads != highest) continue;
      best = std::max(best, threads * Blocks(threads, shared_for(threads)));
    }
    int grid = 0;
    int block = 0;
    ASSERT_EQ(CUDA_SUCCESS,
              cuOccupancyMaxPotentialBlockSize(&grid, &block, idle_, shared_for, 0, limit));
    EXPECT_LE(block, highest);
    EXPECT_EQ(block * Blocks(block, shared_for(block)), best) << limit << ", " << per_thread;
    EXPECT_EQ(grid, Blocks(block, shared_for(block)) *
                        DeviceValue(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
    int same_grid = 0;
    int same_block = 0;
    ASSERT_EQ(CUDA_SUCCESS, cuOccupancyMaxPotentialBlockSizeWithFlags(
                                &same_grid, &same_block, idle_, shared_for, 0, limit, 0));
    EXPECT_EQ(same_grid, grid);
    EXPECT_EQ(same_block, block);
  }
}

TEST_F(OccupancyTest, LimitsAreThoseOfTheDevice) {
  EXPECT_EQ(Blocks(32, 0), DeviceValue(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR));
  const int threads = DeviceValue(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  EXPECT_EQ(Blocks(threads, 0) * threads,
            DeviceValue(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR));
  const auto most =
      static_cast<size_t>(DeviceValue(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN));
  EXPECT_EQ(Blocks(32, most), 1);
  EXPECT_EQ(Blocks(32, most + 1), 0);
  EXPECT_EQ(Attribute(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK), threads);
  EXPECT_EQ(Attribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES),
            DeviceValue(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK));
}

TEST_F(OccupancyTest, BadArguments) {
  int blocks = 0;
  int grid = 0;
  size_t bytes = 0;
  const auto bogus = reinterpret_cast<CUfunction>(&bytes);
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE,
            cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, bogus, 32, 0));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
            cuOccupancyMaxActiveBlocksPerMultiprocessor(nullptr, idle_, 32, 0));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
            cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, idle_, 0, 0));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE,
            cuOccupancyMaxPotentialBlockSize(&grid, &blocks, bogus, nullptr, 0, 0));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
            cuOccupancyMaxPotentialBlockSize(nullptr, &blocks, idle_, nullptr, 0, 0));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
            cuOccupancyMaxPotentialBlockSize(&grid, &blocks, idle_, nullptr, 1 << 20, 0));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE,
            cuOccupancyAvailableDynamicSMemPerBlock(&bytes, bogus, 1, 32));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
            cuOccupancyAvailableDynamicSMemPerBlock(&bytes, idle_, 0, 32));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuOccupancyAvailableDynamicSMemPerBlock(&bytes, idle_, 1, 0));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
            cuOccupancyAvailableDynamicSMemPerBlock(nullptr, idle_, 1, 32));
}

}  // namespace
}  // namespace memprof::simcuda
