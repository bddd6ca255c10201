// A graph whose nodes allocate, fill and free memory, one after another.
#pragma once

#include "driver_fixture.h"

namespace memprof::simcuda {

class GraphMemoryTest : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    CHECK_CU(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
    CHECK_CU(cuGraphCreate(&graph_, 0));
  }
  void TearDown() override {
    if (exec_ != nullptr) {
      CHECK_CU(cuGraphExecDestroy(exec_));
    }
    CHECK_CU(cuGraphDestroy(graph_));
    DriverTest::TearDown();
  }
  static CUDA_MEM_ALLOC_NODE_PARAMS Params(size_t bytes, int device = 0) {
    CUDA_MEM_ALLOC_NODE_PARAMS params = {};
    params.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    params.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, {device}};
    params.bytesize = bytes;
    return params;
  }
  // Adds nodes after the last one.
  CUdeviceptr AddAlloc(CUgraph graph, size_t bytes, int device = 0) {
    auto params = Params(bytes, device);
    const CUgraphNode before = last_;
    EXPECT_EQ(CUDA_SUCCESS,
              cuGraphAddMemAllocNode(&last_, graph, &before, before == nullptr ? 0 : 1, &params));
    return params.dptr;
  }
  CUresult AddFree(CUgraph graph, CUdeviceptr address) {
    return cuGraphAddMemFreeNode(&last_, graph, nullptr, 0, address);
  }
  void AddFill(CUdeviceptr address, unsigned char value, size_t bytes) {
    CUDA_MEMSET_NODE_PARAMS fill = {};
    fill.dst = address;
    fill.value = value;
    fill.elementSize = 1;
    fill.width = bytes;
    fill.height = 1;
    const CUgraphNode before = last_;
    EXPECT_EQ(CUDA_SUCCESS, cuGraphAddMemsetNode(&last_, graph_, &before, before == nullptr ? 0 : 1,
                                                 &fill, context_));
  }
  CUresult Launch() {
    if (exec_ == nullptr) {
      EXPECT_EQ(CUDA_SUCCESS, cuGraphInstantiate(&exec_, graph_, 0));
    }
    return cuGraphLaunch(exec_, stream_);
  }
  static cuuint64_t Get(CUgraphMem_attribute attribute, int device = 0) {
    cuuint64_t value = 0;
    EXPECT_EQ(CUDA_SUCCESS, cuDeviceGetGraphMemAttribute(device, attribute, &value));
    return value;
  }
  static cuuint64_t Used() { return Get(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT); }
  static cuuint64_t Reserved() { return Get(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT); }
  int ByteAt(CUdeviceptr address) {
    unsigned char byte = 0;
    EXPECT_EQ(CUDA_SUCCESS, cuMemcpyDtoH(&byte, address, 1));
    return byte;
  }
  CUstream stream_ = nullptr;
  CUgraph graph_ = nullptr;
  CUgraphExec exec_ = nullptr;
  CUgraphNode last_ = nullptr;
};

}  // namespace memprof::simcuda
