// A simulated device, for tests of the allocator: a capacity, addresses that are never reused, and
// streams whose work ends when the test says so.
#ifndef TESTS_DEMO_TRAINER_FAKE_DRIVER_H_
#define TESTS_DEMO_TRAINER_FAKE_DRIVER_H_

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "demo_trainer/allocator/driver.h"

namespace memprof::demo {

class FakeDriver : public DeviceDriver {
 public:
  explicit FakeDriver(size_t capacity) : capacity_(capacity) {}

  void* Allocate(size_t bytes) override {
    ++allocate_calls;
    if (used_ + bytes > capacity_) return nullptr;
    // Segments are adjacent, so that a merge across segments would be detected.
    if (downwards) next_address_ -= bytes;
    const uintptr_t address = next_address_;
    if (!downwards) next_address_ += bytes;
    used_ += bytes;
    live_[address] = bytes;
    return reinterpret_cast<void*>(address);
  }

  void Free(void* ptr) override {
    const auto found = live_.find(reinterpret_cast<uintptr_t>(ptr));
    ASSERT_NE(found, live_.end()) << "the driver does not know " << ptr;
    used_ -= found->second;
    live_.erase(found);
  }

  void MemoryInfo(size_t* free_bytes, size_t* total_bytes) override {
    *free_bytes = capacity_ - used_;
    *total_bytes = capacity_;
  }

  Event RecordEvent(StreamHandle) override {
    events_.insert(next_event_);
    return next_event_++;
  }
  bool TakeIfDone(Event event) override {
    EXPECT_TRUE(events_.contains(event));
    if (event > done_) return false;
    events_.erase(event);
    return true;
  }
  void WaitFor(Event event) override {
    EXPECT_TRUE(events_.contains(event));
    events_.erase(event);
  }

  // All events recorded so far are complete.
  void FinishWork() { done_ = next_event_ - 1; }

  size_t used() const { return used_; }
  size_t live_segments() const { return live_.size(); }
  size_t open_events() const { return events_.size(); }
  int allocate_calls = 0;
  bool downwards = false;  // each allocation below the one before

 private:
  const size_t capacity_;
  size_t used_ = 0;
  uintptr_t next_address_ = uintptr_t{1} << 40;
  std::map<uintptr_t, size_t> live_;
  Event next_event_ = 1;
  Event done_ = 0;
  std::set<Event> events_;
};

}  // namespace memprof::demo

#endif  // TESTS_DEMO_TRAINER_FAKE_DRIVER_H_
