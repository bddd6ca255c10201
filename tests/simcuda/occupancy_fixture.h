// A kernel whose launches are counted, and figures of its occupancy.
#pragma once

#include "driver_fixture.h"

namespace memprof::simcuda {

inline constexpr char kIdleAndCountPtx[] = R"(
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
    CHECK_CU(cuModuleLoadData(&module_, kIdleAndCountPtx));
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

}  // namespace memprof::simcuda
