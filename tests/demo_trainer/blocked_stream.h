// A stream whose work does not end before the test allows it.
#ifndef TESTS_DEMO_TRAINER_BLOCKED_STREAM_H_
#define TESTS_DEMO_TRAINER_BLOCKED_STREAM_H_

#include <cuda_runtime_api.h>

#include <future>

#include "demo_trainer/error.h"

namespace memprof::demo {

class BlockedStream {
 public:
  // Creates a stream, or blocks an existing one.
  explicit BlockedStream(cudaStream_t stream = nullptr)
      : stream_(stream), owned_(stream == nullptr) {
    if (owned_) {
      Check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "creating a stream");
    }
    Check(cudaLaunchHostFunc(
              stream_,
              [](void* gate) { static_cast<std::promise<void>*>(gate)->get_future().wait(); },
              &gate_),
          "blocking a stream");
  }
  ~BlockedStream() {
    Open();
    cudaStreamSynchronize(stream_);
    if (owned_) cudaStreamDestroy(stream_);
  }
  BlockedStream(const BlockedStream&) = delete;
  BlockedStream& operator=(const BlockedStream&) = delete;

  // Allows the work to end, and waits for it.
  void Open() {
    if (!open_) gate_.set_value();
    open_ = true;
    cudaStreamSynchronize(stream_);
  }
  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_;
  const bool owned_;
  std::promise<void> gate_;
  bool open_ = false;
};

}  // namespace memprof::demo

#endif  // TESTS_DEMO_TRAINER_BLOCKED_STREAM_H_
