// The allocator on a fake driver, and invariants after every call.
#ifndef TESTS_DEMO_TRAINER_CACHING_ALLOCATOR_FIXTURE_H_
#define TESTS_DEMO_TRAINER_CACHING_ALLOCATOR_FIXTURE_H_

#include <gtest/gtest.h>

#include <limits>

#include "demo_trainer/allocator/caching_allocator.h"
#include "demo_trainer/error.h"
#include "tests/demo_trainer/fake_driver.h"

namespace memprof::demo {

inline constexpr size_t kKiB = 1024;
inline constexpr size_t kMiB = 1024 * kKiB;

class Observer : public AllocatorObserver {
 public:
  void SegmentCreated(const void*, size_t bytes, StreamHandle) override { reserved += bytes; }
  void BlockCreated(const void*, size_t bytes, size_t asked, StreamHandle) override {
    allocated += bytes;
    requested += asked;
  }
  void OutOfMemory(size_t bytes, size_t, size_t) override { oom_bytes = bytes; }
  size_t reserved = 0;
  size_t allocated = 0;
  size_t requested = 0;
  size_t oom_bytes = 0;
};

struct Fixture {
  explicit Fixture(size_t capacity = 1024 * kMiB,
                   size_t max_split = std::numeric_limits<size_t>::max())
      : driver(capacity), allocator({0, max_split}, &driver, &observer) {}
  FakeDriver driver;
  Observer observer;
  CachingAllocator allocator;
};

inline StreamHandle Stream(uintptr_t number) { return reinterpret_cast<StreamHandle>(number); }

// Invariants of the blocks in all segments after every call, independent of the allocator's rules.
inline void ExpectSound(const CachingAllocator& allocator) {
  const std::vector<CachingAllocator::BlockView> blocks = allocator.Blocks();
  size_t total = 0;
  for (size_t i = 0; i < blocks.size(); ++i) {
    const auto& block = blocks[i];
    total += block.bytes;
    ASSERT_GT(block.bytes, 0u);
    ASSERT_EQ(block.bytes % kBlockRounding, 0u);
    if (i == 0 || blocks[i - 1].segment != block.segment) {
      ASSERT_EQ(block.address, block.segment) << "a segment begins with a block";
      continue;
    }
    const auto& before = blocks[i - 1];
    ASSERT_EQ(before.address + before.bytes, block.address) << "no gap and no overlap";
    ASSERT_EQ(before.stream, block.stream) << "a segment serves one stream";
    ASSERT_TRUE(before.in_use || block.in_use) << "free neighbours have merged";
  }
  const AllocatorStats& stats = allocator.stats();
  ASSERT_EQ(total, stats.reserved.current);
  ASSERT_LE(stats.requested.current, stats.allocated.current);
  ASSERT_LE(stats.allocated.current, stats.reserved.current);
  for (const Gauge& gauge : {stats.allocated, stats.requested, stats.reserved, stats.blocks}) {
    ASSERT_LE(gauge.current, gauge.peak);
  }
  ASSERT_EQ(stats.allocations - stats.frees, stats.blocks.current);
}

}  // namespace memprof::demo

#endif  // TESTS_DEMO_TRAINER_CACHING_ALLOCATOR_FIXTURE_H_
