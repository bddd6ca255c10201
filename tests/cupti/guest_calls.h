// Calls of the stand-in driver as a program makes them, with checked results.
#pragma once

#include <cuda.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace memprof::cupti_test {

#define ASSERT_CUDA(call) ASSERT_EQ(call, CUDA_SUCCESS)
#define EXPECT_CUDA(call) EXPECT_EQ(call, CUDA_SUCCESS)

// Two kernels: one with a pointer, a count and another pointer, and one without parameters.
inline constexpr char kPtx[] = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry axpy(.param .u64 axpy_param_0, .param .u32 axpy_param_1, .param .u64 axpy_param_2)
{ ret; }
.visible .entry idle() { ret; }
)";

// Must be called before the process uses CUDA.
inline void ConfigureStandIn() {
  setenv("SIMCUDA", "devices=2,memory=4GiB,async=0,overhead=16MiB", 1);
}

inline CUcontext NewContext(int device) {
  CUcontext context = nullptr;
  EXPECT_CUDA(cuInit(0));
  EXPECT_CUDA(cuCtxCreate_v2(&context, 0, device));
  return context;
}

}  // namespace memprof::cupti_test
