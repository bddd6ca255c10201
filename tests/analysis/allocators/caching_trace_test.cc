// The allocator on a trace of requests.
#include "analysis/allocators/caching.h"
#include "analysis/allocators/trace.h"
#include "analysis/base/sizes.h"
#include "gtest/gtest.h"

namespace memprof::analysis::allocators {
namespace {

TEST(CachingTraceTest, ReplaysATrace) {
  Trace trace;
  const auto a = trace.Allocate(3 * kMiB);
  const auto b = trace.Allocate(kMaxRequest + 1);
  trace.Free(b);
  trace.Free(a);
  trace.events.push_back({TraceOp::kEmptyCache, 0});
  trace.Allocate(700, 1);
  Device device(kUnlimited);
  CachingAllocator allocator({}, &device);
  Replay(trace, &allocator, &device);
  EXPECT_EQ(allocator.figures().peak_reserved, 20 * kMiB);
  EXPECT_EQ(allocator.figures().peak_requested, 3 * kMiB);
  EXPECT_EQ(allocator.figures().reserved, 2 * kMiB);
  EXPECT_EQ(allocator.figures().failures, 1u);
  EXPECT_DOUBLE_EQ(allocator.figures().fragmentation(), 1 - 3.0 / 20);
}

// A large segment with blocks of 2 and 1.5 MiB and a hole between them, and a small one.
HeldSegment LargeHeld() {
  return {.bytes = 20 * kMiB,
          .blocks = {{0, 2 * kMiB, 2 * kMiB - 5}, {5 * kMiB, 3 * kMiB / 2, 3 * kMiB / 2}}};
}

TEST(CachingTraceTest, TakesOverWhatWasThere) {
  Device device(kUnlimited);
  CachingAllocator allocator({}, &device);
  std::vector<Handle> handles;
  ASSERT_TRUE(allocator.Adopt(LargeHeld(), &handles));
  ASSERT_TRUE(allocator.Adopt({.bytes = 2 * kMiB, .blocks = {{kMiB, 512, 100}}}, &handles));
  ASSERT_EQ(handles.size(), 3u);
  EXPECT_EQ(allocator.Inconsistency(), "");
  EXPECT_EQ(allocator.figures().reserved, 22 * kMiB);
  EXPECT_EQ(allocator.figures().allocated, 2 * kMiB + 3 * kMiB / 2 + 512);
  EXPECT_EQ(allocator.figures().requested, 2 * kMiB - 5 + 3 * kMiB / 2 + 100);
  const std::uint64_t base = allocator.PlaceOf(handles[0]).address;
  EXPECT_EQ(allocator.PlaceOf(handles[1]).address, base + 5 * kMiB);
  const Handle hole = allocator.Allocate(3 * kMiB, 0);
  EXPECT_EQ(allocator.PlaceOf(hole).address, base + 2 * kMiB)
      << "the smallest one that is large enough";
  const Handle tail = allocator.Allocate(27 * kMiB / 2, 0);
  EXPECT_EQ(allocator.PlaceOf(tail).address, base + 13 * kMiB / 2);
  EXPECT_EQ(allocator.figures().reserved, 22 * kMiB);
  allocator.Allocate(2 * kMiB, 0);
  EXPECT_EQ(allocator.figures().reserved, 42 * kMiB);
  for (const Handle handle : {handles[0], handles[1], handles[2], hole, tail})
    allocator.Free(handle);
  EXPECT_EQ(allocator.Inconsistency(), "");
  allocator.EmptyCache();
  EXPECT_EQ(allocator.figures().reserved, 20 * kMiB) << "of the remaining block";
}

TEST(CachingTraceTest, WhatDoesNotFitIsNotTakenOver) {
  Device device(10 * kMiB);
  CachingAllocator allocator({}, &device);
  std::vector<Handle> handles;
  EXPECT_FALSE(allocator.Adopt(LargeHeld(), &handles)) << "larger than the device";
  EXPECT_FALSE(allocator.Adopt({.bytes = kMiB, .blocks = {{0, 512, 1}, {511, 512, 1}}}, &handles));
  EXPECT_FALSE(allocator.Adopt({.bytes = kMiB, .blocks = {{kMiB - 511, 512, 1}}}, &handles));
  EXPECT_FALSE(allocator.Adopt({.bytes = kMiB, .blocks = {{kMiB + 1, 1, 1}}}, &handles));
  EXPECT_FALSE(allocator.Adopt({.bytes = 0, .blocks = {}}, &handles));
  CachingAllocator expandable({.expandable = true}, &device);
  EXPECT_FALSE(expandable.Adopt({.bytes = 2 * kMiB, .blocks = {}}, &handles));
  EXPECT_TRUE(handles.empty());
  EXPECT_EQ(allocator.figures().reserved + allocator.figures().requested, 0u);
}

TEST(CachingTraceTest, ATraceBeginsWithWhatWasThereOnlyAsRecorded) {
  Trace trace;
  trace.held.push_back({.segment = LargeHeld(), .blocks = {0, 1}});
  trace.events.push_back({TraceOp::kHeld, 0});
  trace.Allocate(2 * kMiB - 5);
  trace.Allocate(3 * kMiB / 2);
  trace.Allocate(15 * kMiB);
  for (const bool as_recorded : {true, false}) {
    Device device(kUnlimited);
    CachingAllocator allocator({}, &device);
    Replay(trace, &allocator, &device, {.as_recorded = as_recorded});
    EXPECT_EQ(allocator.figures().allocations, 3u);
    // As recorded, the hole between the blocks is too small for the third request.
    EXPECT_EQ(allocator.figures().reserved, (as_recorded ? 36 : 20) * kMiB);
  }
}

TEST(CachingTraceTest, MemoryOutsideCountsAgainstTheCapacity) {
  Trace trace;
  trace.outside = {90 * kMiB, 10 * kMiB};
  trace.events.push_back({TraceOp::kOutside, 0});
  trace.Allocate(12 * kMiB);
  trace.events.push_back({TraceOp::kOutside, 1});
  trace.Allocate(12 * kMiB);
  Device device(100 * kMiB);
  CachingAllocator allocator({}, &device);
  Replay(trace, &allocator, &device);
  EXPECT_EQ(allocator.figures().failures, 1u);
  EXPECT_EQ(allocator.figures().peak_reserved, 12 * kMiB);
  EXPECT_EQ(device.used(), 22 * kMiB);
}

}  // namespace
}  // namespace memprof::analysis::allocators
