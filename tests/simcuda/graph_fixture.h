// A kernel that doubles eight numbers, and streams to capture it.
#pragma once

#include "driver_fixture.h"

extern "C" int simcuda_set_host_kernel(CUfunction function, simcuda_host_kernel host, int args,
                                       const size_t* sizes);

namespace memprof::simcuda {

constexpr char kTwicePtx[] = ".version 8.0\n.target sm_90\n.entry twice(.param .u64 p) { ret; }\n";

// Doubles eight numbers.
inline void Twice(const simcuda_launch* launch) {
  auto* values = *static_cast<unsigned**>(launch->args[0]);
  for (int i = 0; i < 8; ++i) values[i] *= 2;
}

class GraphTest : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    CUmodule module = nullptr;
    CHECK_CU(cuModuleLoadData(&module, kTwicePtx));
    CHECK_CU(cuModuleGetFunction(&twice_, module, "twice"));
    const size_t sizes[] = {8};
    ASSERT_EQ(0, simcuda_set_host_kernel(twice_, &Twice, 1, sizes));
    CHECK_CU(cuMemAlloc(&values_, 32));
    CHECK_CU(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
    CHECK_CU(cuStreamCreate(&other_, CU_STREAM_NON_BLOCKING));
  }
  void TearDown() override {
    CHECK_CU(cuMemFree(values_));
    DriverTest::TearDown();
  }
  CUresult LaunchTwice(CUstream stream) {
    void* params[] = {&values_};
    return cuLaunchKernel(twice_, 1, 1, 1, 8, 1, 1, 0, stream, params, nullptr);
  }
  unsigned First() {
    unsigned value = 0;
    EXPECT_EQ(CUDA_SUCCESS, cuMemcpyDtoH(&value, values_, 4));
    return value;
  }
  CUDA_MEMSET_NODE_PARAMS Fill(unsigned value) const {
    CUDA_MEMSET_NODE_PARAMS params = {};
    params.dst = values_;
    params.value = value;
    params.elementSize = 4;
    params.width = 8;
    params.height = 1;
    return params;
  }
  CUDA_KERNEL_NODE_PARAMS Kernel(void** arguments) const {
    CUDA_KERNEL_NODE_PARAMS params = {};
    params.func = twice_;
    params.gridDimX = params.gridDimY = params.gridDimZ = 1;
    params.blockDimX = 8;
    params.blockDimY = params.blockDimZ = 1;
    params.kernelParams = arguments;
    return params;
  }
  CUfunction twice_ = nullptr;
  CUdeviceptr values_ = 0;
  CUstream stream_ = nullptr;
  CUstream other_ = nullptr;
};

}  // namespace memprof::simcuda
