// Events: marks in streams, with the time at which the work before them was done.
#ifndef SIMCUDA_DRIVER_EVENT_H
#define SIMCUDA_DRIVER_EVENT_H

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>

#include "simcuda/driver/cuda_headers.h"
#include "simcuda/driver/stream.h"

namespace memprof::simcuda {

class Context;
class SharedEvent;

// The clock of events.
inline int64_t NowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

class Event {
 public:
  // `shared`: the state of an interprocess event in shared memory; null for others.
  Event(Context* context, unsigned flags, std::shared_ptr<SharedEvent> shared = nullptr)
      : context_(context), flags_(flags), shared_(std::move(shared)) {}

  // One recording; time_ns is 0 until it is reached.
  struct Record {
    StreamPoint point;
    std::shared_ptr<Capture> capture;  // recorded while the stream was capturing
    std::atomic<int64_t> time_ns{0};
  };

  Context* context() const { return context_; }
  unsigned flags() const { return flags_; }
  const std::shared_ptr<SharedEvent>& shared() const { return shared_; }
  void set_record(std::shared_ptr<Record> record) {
    const std::lock_guard lock(mutex_);
    record_ = std::move(record);
  }
  // The latest recording, or null.
  std::shared_ptr<Record> record() const {
    const std::lock_guard lock(mutex_);
    return record_;
  }

 private:
  Context* const context_;
  const unsigned flags_;
  const std::shared_ptr<SharedEvent> shared_;
  mutable std::mutex mutex_;
  std::shared_ptr<Record> record_;
};

}  // namespace memprof::simcuda

#endif  // SIMCUDA_DRIVER_EVENT_H
