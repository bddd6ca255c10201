// Shared parts of tests of the stand-in cudart; linked against versions 12 and 13.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include "simcuda/simcuda.h"
#include "tests/simcuda/configure.h"

#define CHECK_RT(call) ASSERT_EQ(cudaSuccess, (call))

inline constexpr size_t kMiB = size_t{1} << 20;

inline size_t Free() {
  size_t free = 0;
  EXPECT_EQ(cudaSuccess, cudaMemGetInfo(&free, nullptr));
  return free;
}

// The major version of the runtime that the test is linked against.
inline int RuntimeVersion() {
  int version = 0;
  EXPECT_EQ(cudaSuccess, cudaRuntimeGetVersion(&version));
  return version / 1000;
}
