// Streams for capture, and memory that captured work fills.
#pragma once

#include "driver_fixture.h"

namespace memprof::simcuda {

class CaptureTest : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    CHECK_CU(cuMemAlloc(&values_, 32));
    for (CUstream& stream : streams_) CHECK_CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK_CU(cuEventCreate(&event_, CU_EVENT_DISABLE_TIMING));
  }
  static CUresult Begin(CUstream stream) {
    return cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  }
  static void End(CUstream stream, size_t nodes) {
    CUgraph graph = nullptr;
    ASSERT_EQ(CUDA_SUCCESS, cuStreamEndCapture(stream, &graph));
    size_t count = 99;
    EXPECT_EQ(CUDA_SUCCESS, cuGraphGetNodes(graph, nullptr, &count));
    EXPECT_EQ(count, nodes);
    EXPECT_EQ(CUDA_SUCCESS, cuGraphDestroy(graph));
  }
  static bool Capturing(CUstream stream) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
    EXPECT_EQ(CUDA_SUCCESS, cuStreamIsCapturing(stream, &status));
    EXPECT_NE(status, CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    return status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
  }
  CUresult Fill(CUstream stream, unsigned value = 1) {
    return cuMemsetD32Async(values_, value, 8, stream);
  }
  unsigned First() {
    unsigned value = 0;
    EXPECT_EQ(CUDA_SUCCESS, cuMemcpyDtoH(&value, values_, 4));
    return value;
  }
  void TearDown() override {
    CHECK_CU(cuMemFree(values_));
    DriverTest::TearDown();
  }
  CUdeviceptr values_ = 0;
  CUstream streams_[3] = {};
  CUevent event_ = nullptr;
};

}  // namespace memprof::simcuda
