// Limits of launch dimensions, attributes of functions, and what the host version of a kernel
// receives.
#include <algorithm>

#include "tests/simcuda/occupancy_fixture.h"

extern "C" int simcuda_set_host_kernel(CUfunction function, simcuda_host_kernel host, int args,
                                       const size_t* sizes);

namespace memprof::simcuda {
namespace {

SIMCUDA_CONFIGURE("memory=1GiB,overhead=0");

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
  // The attribute was set for this function only.
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
    // A cooperative launch cannot have more blocks than the device can run at once.
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

TEST_F(OccupancyTest, MuchSharedMemoryMustBeRequestedFirst) {
  const auto launch = [&](unsigned shared) {
    return cuLaunchKernel(idle_, 1, 1, 1, 1, 1, 1, shared, nullptr, nullptr, nullptr);
  };
  CHECK_CU(launch(49152));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, launch(49153));
  CHECK_CU(cuFuncSetAttribute(idle_, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100000));
  CHECK_CU(launch(100000));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, launch(100001));
}

TEST_F(OccupancyTest, LaunchesPassEverythingToTheHostVersion) {
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
  // Only one way to pass arguments at a time, and only known markers.
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
