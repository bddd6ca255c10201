// Attributes of functions, launch parameters and occupancy.
#include <algorithm>
#include <random>
#include <vector>

#include "driver_fixture.h"

extern "C" int simcuda_set_host_kernel(CUfunction function, simcuda_host_kernel host, int args,
                                       const size_t* sizes);

namespace memprof::simcuda {
namespace {

const Configure kConfigure("memory=1GiB,overhead=0");

constexpr char kPtx[] = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry count(.param .u64 out) { ret; }
.visible .entry idle() { ret; }
)";

class OccupancyTest : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    CHECK_CU(cuModuleLoadData(&module_, kPtx));
    CHECK_CU(cuModuleGetFunction(&idle_, module_, "idle"));
    CHECK_CU(cuModuleGetFunction(&count_, module_, "count"));
  }
  int Blocks(int threads, size_t shared) {
    int blocks = -1;
    EXPECT_EQ(CUDA_SUCCESS,
              cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, idle_, threads, shared));
    return blocks;
  }
  int Attribute(CUfunction_attribute attribute) {
    int value = -99;
    EXPECT_EQ(CUDA_SUCCESS, cuFuncGetAttribute(&value, attribute, idle_));
    return value;
  }
  static int DeviceValue(CUdevice_attribute attribute) {
    int value = -1;
    EXPECT_EQ(CUDA_SUCCESS, cuDeviceGetAttribute(&value, attribute, 0));
    return value;
  }
  CUmodule module_ = nullptr;
  CUfunction idle_ = nullptr;
  CUfunction count_ = nullptr;
};

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

TEST_F(OccupancyTest, AttributesThatMayBeSet) {
  const struct {
    CUfunction_attribute attribute;
    int value;
    CUresult result;
  } rows[] = {{CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1, CUDA_ERROR_INVALID_VALUE},
              {CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, 1, CUDA_ERROR_INVALID_VALUE},
              {CU_FUNC_ATTRIBUTE_NUM_REGS, 1, CUDA_ERROR_INVALID_VALUE},
              {CU_FUNC_ATTRIBUTE_BINARY_VERSION, 1, CUDA_ERROR_INVALID_VALUE},
              {CU_FUNC_ATTRIBUTE_MAX, 1, CUDA_ERROR_INVALID_VALUE},
              {CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, -1, CUDA_ERROR_INVALID_VALUE},
              {CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 232449, CUDA_ERROR_INVALID_VALUE},
              {CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 232448, CUDA_SUCCESS},
              {CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 0, CUDA_SUCCESS},
              {CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 50, CUDA_SUCCESS}};
  for (const auto& row : rows) {
    EXPECT_EQ(cuFuncSetAttribute(idle_, row.attribute, row.value), row.result)
        << row.attribute << " = " << row.value;
    if (row.result == CUDA_SUCCESS) {
      EXPECT_EQ(Attribute(row.attribute), row.value);
    }
  }
  // Of this function alone.
  int value = -99;
  CHECK_CU(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, count_));
  EXPECT_EQ(value, -1);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX, idle_));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
            cuFuncGetAttribute(nullptr, CU_FUNC_ATTRIBUTE_NUM_REGS, idle_));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE,
            cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, nullptr));
}

TEST_F(OccupancyTest, LaunchShapesAtTheirEdges) {
  struct Shape {
    unsigned grid[3];
    unsigned block[3];
    bool good;
  };
  const Shape rows[] = {{{1, 1, 1}, {1, 1, 1}, true},
                        {{2147483647, 1, 1}, {1, 1, 1}, true},
                        {{2147483648u, 1, 1}, {1, 1, 1}, false},
                        {{1, 65535, 65535}, {1, 1, 1}, true},
                        {{1, 65536, 1}, {1, 1, 1}, false},
                        {{1, 1, 65536}, {1, 1, 1}, false},
                        {{1, 0, 1}, {1, 1, 1}, false},
                        {{1, 1, 0}, {1, 1, 1}, false},
                        {{1, 1, 1}, {1024, 1, 1}, true},
                        {{1, 1, 1}, {1, 1024, 1}, true},
                        {{1, 1, 1}, {1, 1, 64}, true},
                        {{1, 1, 1}, {16, 1, 64}, true},
                        {{1, 1, 1}, {17, 1, 64}, false},
                        {{1, 1, 1}, {1, 1, 65}, false},
                        {{1, 1, 1}, {32, 32, 1}, true},
                        {{1, 1, 1}, {33, 32, 1}, false},
                        {{1, 1, 1}, {0, 1, 1}, false},
                        {{1, 1, 1}, {1, 0, 1}, false},
                        {{1, 1, 1}, {1, 1, 0}, false},
                        {{1, 1, 1}, {65536, 65536, 1}, false}};
  for (const Shape& row : rows) {
    const auto& [grid, block, good] = row;
    const CUresult expected = good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    EXPECT_EQ(expected, cuLaunchKernel(idle_, grid[0], grid[1], grid[2], block[0], block[1],
                                       block[2], 0, nullptr, nullptr, nullptr))
        << &row - rows;
    // No more blocks can cooperate than the device holds at once.
    const bool small = grid[0] <= 132 && grid[1] == 1 && grid[2] == 1;
    EXPECT_EQ(good && !small ? CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE : expected,
              cuLaunchCooperativeKernel(idle_, grid[0], grid[1], grid[2], block[0], block[1],
                                        block[2], 0, nullptr, nullptr))
        << &row - rows;
    // A graph's kernel node is checked when it is made.
    CUgraph graph = nullptr;
    CHECK_CU(cuGraphCreate(&graph, 0));
    CUDA_KERNEL_NODE_PARAMS params = {};
    params.func = idle_;
    params.gridDimX = grid[0];
    params.gridDimY = grid[1];
    params.gridDimZ = grid[2];
    params.blockDimX = block[0];
    params.blockDimY = block[1];
    params.blockDimZ = block[2];
    CUgraphNode node = nullptr;
    EXPECT_EQ(expected, cuGraphAddKernelNode(&node, graph, nullptr, 0, &params)) << &row - rows;
    CHECK_CU(cuGraphDestroy(graph));
  }
}

TEST_F(OccupancyTest, MuchSharedMemoryMustBeAskedForFirst) {
  const auto launch = [&](unsigned shared) {
    return cuLaunchKernel(idle_, 1, 1, 1, 1, 1, 1, shared, nullptr, nullptr, nullptr);
  };
  CHECK_CU(launch(49152));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, launch(49153));
  CHECK_CU(cuFuncSetAttribute(idle_, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100000));
  CHECK_CU(launch(100000));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, launch(100001));
}

TEST_F(OccupancyTest, LaunchesTellTheHostVersionEverything) {
  static simcuda_launch seen = {};
  const size_t sizes[] = {8};
  ASSERT_EQ(0, simcuda_set_host_kernel(
                   count_, [](const simcuda_launch* launch) { seen = *launch; }, 1, sizes));
  uint64_t argument = 42;
  void* params[] = {&argument};
  CHECK_CU(cuLaunchKernel(count_, 2, 3, 4, 5, 6, 7, 89, nullptr, params, nullptr));
  CHECK_CU(cuCtxSynchronize());
  const unsigned numbers[] = {seen.grid[0],  seen.grid[1],  seen.grid[2],
                              seen.block[0], seen.block[1], seen.block[2]};
  const unsigned expected[] = {2, 3, 4, 5, 6, 7};
  EXPECT_TRUE(std::equal(std::begin(numbers), std::end(numbers), expected));
  EXPECT_EQ(seen.shared_bytes, 89u);
  EXPECT_EQ(seen.device, 0);
  // One way to pass arguments at a time, with known marks alone.
  size_t bytes = 8;
  void* packed[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &argument, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                    CU_LAUNCH_PARAM_END};
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
            cuLaunchKernel(count_, 1, 1, 1, 1, 1, 1, 0, nullptr, params, packed));
  void* wrong[] = {&bytes, &argument, CU_LAUNCH_PARAM_END};
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
            cuLaunchKernel(count_, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, wrong));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuLaunchKernelEx(nullptr, count_, params, nullptr));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE,
            cuLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr, params, nullptr));
}

}  // namespace
}  // namespace memprof::simcuda
