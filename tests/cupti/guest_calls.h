// Calls of the stand-in driver that tests make as a program would, checked.
#pragma once

#include <cuda.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace memprof::cupti_test {

#define ASSERT_CUDA(call) ASSERT_EQ(call, CUDA_SUCCESS)
#define EXPECT_CUDA(call) EXPECT_EQ(call, CUDA_SUCCESS)

// A kernel with a pointer, a count and another pointer, and one without anything.
inline constexpr char kPtx[] = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry axpy(.param .u64 axpy_param_0, .param .u32 axpy_param_1, .param .u64 axpy_param_2)
{ ret; }
.visible .entry idle() { ret; }
)";

// Before anything of CUDA is used in a process.
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
