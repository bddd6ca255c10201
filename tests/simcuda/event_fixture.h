// Two streams, events, and a gate that blocks a stream.
#pragma once

#include <atomic>
#include <thread>

#include "driver_fixture.h"

namespace memprof::simcuda {

// Blocks a stream until it is opened or destroyed.
class Gate {
 public:
  explicit Gate(CUstream stream) : stream_(stream) {
    EXPECT_EQ(CUDA_SUCCESS, cuLaunchHostFunc(stream, &Gate::Wait, this));
  }
  ~Gate() {
    Open();
    cuStreamSynchronize(stream_);
  }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  void Open() { open_ = true; }

 private:
  static void Wait(void* gate) {
    while (!static_cast<Gate*>(gate)->open_) std::this_thread::yield();
  }
  CUstream stream_;
  std::atomic<bool> open_{false};
};

class EventTest : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    CHECK_CU(cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
    CHECK_CU(cuStreamCreate(&other_, CU_STREAM_NON_BLOCKING));
  }
  static CUevent Make(unsigned flags = CU_EVENT_DEFAULT) {
    CUevent event = nullptr;
    EXPECT_EQ(CUDA_SUCCESS, cuEventCreate(&event, flags));
    return event;
  }
  CUstream stream_ = nullptr;
  CUstream other_ = nullptr;
};

}  // namespace memprof::simcuda
