// Modules, functions and launches through the driver.
#include <dlfcn.h>

#include <atomic>
#include <cstring>
#include <vector>

#include "driver_fixture.h"

// The function by which the stand-in cudart attaches a host version to a kernel.
extern "C" int simcuda_set_host_kernel(CUfunction function, simcuda_host_kernel host, int args,
                                       const size_t* sizes);

namespace memprof::simcuda {
namespace {

SIMCUDA_CONFIGURE("memory=1GiB,overhead=0");

constexpr char kModulePtx[] = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .global .align 4 .b8 table[4096];
.visible .entry axpy(.param .u64 out, .param .u64 in, .param .f32 a, .param .u32 n) { ret; }
.visible .entry idle() { ret; }
)";

class ModuleTest : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    CHECK_CU(cuModuleLoadData(&module_, kModulePtx));
    CHECK_CU(cuModuleGetFunction(&axpy_, module_, "axpy"));
  }
  CUmodule module_ = nullptr;
  CUfunction axpy_ = nullptr;
};

void Axpy(const simcuda_launch* launch) {
  auto* out = *static_cast<float**>(launch->args[0]);
  const auto* in = *static_cast<const float**>(launch->args[1]);
  const float a = *static_cast<float*>(launch->args[2]);
  const unsigned n = *static_cast<unsigned*>(launch->args[3]);
  for (unsigned i = 0; i < n && i < launch->grid[0] * launch->block[0]; ++i) out[i] += a * in[i];
}
constexpr size_t kAxpySizes[] = {8, 8, 4, 4};

TEST_F(ModuleTest, FindsWhatTheImageHas) {
  CUfunction function = nullptr;
  EXPECT_EQ(CUDA_ERROR_NOT_FOUND, cuModuleGetFunction(&function, module_, "other"));
  CHECK_CU(cuModuleGetFunction(&function, module_, "axpy"));
  EXPECT_EQ(function, axpy_);
  unsigned count = 0;
  CHECK_CU(cuModuleGetFunctionCount(&count, module_));
  EXPECT_EQ(count, 2u);
  const char* name = nullptr;
  CHECK_CU(cuFuncGetName(&name, axpy_));
  EXPECT_STREQ(name, "axpy");
  CUmodule of = nullptr;
  CHECK_CU(cuFuncGetModule(&of, axpy_));
  EXPECT_EQ(of, module_);
  const size_t offsets[] = {0, 8, 16, 20};
  for (size_t i = 0; i < 4; ++i) {
    size_t offset = 99;
    size_t size = 99;
    CHECK_CU(cuFuncGetParamInfo(axpy_, i, &offset, &size));
    EXPECT_EQ(offset, offsets[i]);
    EXPECT_EQ(size, kAxpySizes[i]);
  }
  size_t offset = 0;
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuFuncGetParamInfo(axpy_, 4, &offset, nullptr));
}

TEST_F(ModuleTest, ParametersAreAlignedByTheirSize) {
  const size_t sizes[] = {1, 12, 2, 24, 4};
  ASSERT_EQ(0, simcuda_set_host_kernel(axpy_, &Axpy, 5, sizes));
  const size_t expected[] = {0, 4, 16, 24, 48};
  for (size_t i = 0; i < 5; ++i) {
    size_t offset = 99;
    CHECK_CU(cuFuncGetParamInfo(axpy_, i, &offset, nullptr));
    EXPECT_EQ(offset, expected[i]);
  }
}

TEST_F(ModuleTest, GlobalsTakeMemory) {
  CUdeviceptr table = 0;
  size_t bytes = 0;
  CHECK_CU(cuModuleGetGlobal(&table, &bytes, module_, "table"));
  EXPECT_EQ(bytes, 4096u);
  CHECK_CU(cuMemsetD8(table, 5, bytes));
  EXPECT_EQ(Memory().linear_bytes, 2 * kMiB);
  EXPECT_EQ(Memory().live_allocations, 0u);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemFree(table));
  CUdeviceptr none = 0;
  EXPECT_EQ(CUDA_ERROR_NOT_FOUND, cuModuleGetGlobal(&none, nullptr, module_, "nothing"));
  CHECK_CU(cuModuleUnload(module_));
  EXPECT_EQ(Memory().linear_bytes, 0u);
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuModuleUnload(module_));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE,
            cuLaunchKernel(axpy_, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
}

TEST_F(ModuleTest, LaunchRunsTheHostVersion) {
  ASSERT_EQ(0, simcuda_set_host_kernel(axpy_, &Axpy, 4, kAxpySizes));
  CUdeviceptr out = 0;
  CUdeviceptr in = 0;
  CHECK_CU(cuMemAlloc(&out, 400));
  CHECK_CU(cuMemAlloc(&in, 400));
  std::vector<float> host(100, 2.0F);
  CHECK_CU(cuMemcpyHtoD(in, host.data(), 400));
  CHECK_CU(cuMemsetD8(out, 0, 400));
  float a = 3;
  unsigned n = 100;
  void* params[] = {&out, &in, &a, &n};
  CHECK_CU(cuLaunchKernel(axpy_, 1, 1, 1, 128, 1, 1, 0, nullptr, params, nullptr));
  // The arguments were copied: later changes by the caller have no effect.
  a = 100;
  // The same launch with one packed buffer.
  struct {
    CUdeviceptr out, in;
    float a;
    unsigned n;
  } packed = {out, in, 1, 50};
  size_t packed_bytes = sizeof(packed);
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE,
                   &packed_bytes, CU_LAUNCH_PARAM_END};
  CHECK_CU(cuLaunchKernel(axpy_, 1, 1, 1, 128, 1, 1, 0, nullptr, nullptr, extra));
  CHECK_CU(cuMemcpyDtoH(host.data(), out, 400));
  EXPECT_EQ(host[0], 8.0F);
  EXPECT_EQ(host[49], 8.0F);
  EXPECT_EQ(host[50], 6.0F);
  CUlaunchConfig config = {};
  config.gridDimX = config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = 128;
  config.blockDimY = config.blockDimZ = 1;
  a = -1;
  CHECK_CU(cuLaunchKernelEx(&config, axpy_, params, nullptr));
  CHECK_CU(cuMemcpyDtoH(host.data(), out, 400));
  EXPECT_EQ(host[99], 4.0F);
  CHECK_CU(cuMemFree(in));
  CHECK_CU(cuMemFree(out));
}

TEST_F(ModuleTest, WrongLaunchesAreRefused) {
  ASSERT_EQ(0, simcuda_set_host_kernel(axpy_, &Axpy, 4, kAxpySizes));
  const auto launch = [&](unsigned grid, unsigned block, unsigned block_z, unsigned shared) {
    void* params[4] = {};
    return cuLaunchKernel(axpy_, grid, 1, 1, block, 1, block_z, shared, nullptr, params, nullptr);
  };
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, launch(0, 1, 1, 0));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, launch(1, 1025, 1, 0));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, launch(1, 1024, 2, 0));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, launch(1, 1, 65, 0));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, launch(1, 1, 1, 1 << 20));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
            cuLaunchKernel(axpy_, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuLaunchKernel(reinterpret_cast<CUfunction>(&module_), 1, 1,
                                                      1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
}

TEST_F(ModuleTest, KernelsWithoutHostVersionDoNothing) {
  CUfunction idle = nullptr;
  CHECK_CU(cuModuleGetFunction(&idle, module_, "idle"));
  CHECK_CU(cuLaunchKernel(idle, 10, 10, 10, 32, 1, 1, 0, nullptr, nullptr, nullptr));
  CHECK_CU(cuCtxSynchronize());
}

TEST_F(ModuleTest, AttributesAndOccupancy) {
  int value = 0;
  CHECK_CU(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, axpy_));
  EXPECT_EQ(value, 1024);
  CHECK_CU(cuFuncSetAttribute(axpy_, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100000));
  CHECK_CU(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, axpy_));
  EXPECT_EQ(value, 100000);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuFuncSetAttribute(axpy_, CU_FUNC_ATTRIBUTE_NUM_REGS, 1));
  int blocks = 0;
  CHECK_CU(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, axpy_, 256, 0));
  EXPECT_EQ(blocks, 8);
  int grid = 0;
  int block = 0;
  CHECK_CU(cuOccupancyMaxPotentialBlockSize(&grid, &block, axpy_, nullptr, 0, 0));
  EXPECT_EQ(grid * block, 132 * 2048);
}

TEST_F(ModuleTest, EveryModuleEndsWithItsContext) {
  CHECK_CU(cuDevicePrimaryCtxReset(0));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuModuleUnload(module_));
}

}  // namespace
}  // namespace memprof::simcuda
