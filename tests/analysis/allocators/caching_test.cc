// The rules of PyTorch's caching allocator one by one.
#include "analysis/allocators/caching.h"

#include <optional>

#include "analysis/allocators/internal/trace.h"
#include "analysis/base/sizes.h"
#include "gtest/gtest.h"

namespace memprof::analysis::allocators {
namespace {

class CachingTest : public ::testing::Test {
 protected:
  void Start(const CachingOptions& options, std::uint64_t capacity = kUnlimited) {
    allocator_.reset();
    device_.emplace(capacity);
    allocator_.emplace(options, &*device_);
  }
  Handle Get(std::uint64_t bytes, StreamNumber stream = 0) {
    return allocator_->Allocate(bytes, stream);
  }
  std::uint64_t AddressOf(Handle handle) const { return allocator_->PlaceOf(handle).address; }
  std::uint64_t BytesOf(Handle handle) const { return allocator_->PlaceOf(handle).bytes; }
  const Figures& figures() const { return allocator_->figures(); }

  std::optional<Device> device_;
  std::optional<CachingAllocator> allocator_;
};

TEST(CachingRoundTest, RoundsToBlocks) {
  const CachingOptions options;
  EXPECT_EQ(CachingRound(1, options), 512u);
  EXPECT_EQ(CachingRound(512, options), 512u);
  EXPECT_EQ(CachingRound(513, options), 1024u);
  EXPECT_EQ(CachingRound(5 * kMiB + 1, options), 5 * kMiB + 512);
}

TEST(CachingRoundTest, RoundsToPartsOfPowersOfTwo) {
  CachingOptions options;
  options.roundup_power2.fill(4);
  // The documentation's own example: 1200 lies between 1024 and 2048; parts of 256 bytes.
  EXPECT_EQ(CachingRound(1200, options), 1536u) << "too small for parts: blocks of 512 bytes";
  EXPECT_EQ(CachingRound(2049, options), 2560u);
  EXPECT_EQ(CachingRound(1200 * kKiB, options), 1280 * kKiB);
  EXPECT_EQ(CachingRound(4 * kMiB, options), 4 * kMiB);
  EXPECT_EQ(CachingRound(9 * kMiB, options), 10 * kMiB);
  options.roundup_power2 = {};
  options.roundup_power2[1] = 1;  // of 2 to 4 MiB
  EXPECT_EQ(CachingRound(9 * kMiB - 1, options), 9 * kMiB);
  EXPECT_EQ(CachingRound(3 * kMiB, options), 3 * kMiB) << "one part is none";
  options.roundup_power2[1] = 2;
  EXPECT_EQ(CachingRound(2 * kMiB + 1, options), 3 * kMiB);
  EXPECT_EQ(CachingRound(2 * kMiB - 1, options), 2 * kMiB) << "the row below: blocks of 512 bytes";
}

TEST(CachingRoundTest, TakesSegmentsBySize) {
  EXPECT_EQ(CachingSegmentBytes(512), 2 * kMiB);
  EXPECT_EQ(CachingSegmentBytes(kMiB), 2 * kMiB);
  EXPECT_EQ(CachingSegmentBytes(kMiB + 512), 20 * kMiB);
  EXPECT_EQ(CachingSegmentBytes(10 * kMiB - 512), 20 * kMiB);
  EXPECT_EQ(CachingSegmentBytes(10 * kMiB), 10 * kMiB);
  EXPECT_EQ(CachingSegmentBytes(10 * kMiB + 512), 12 * kMiB);
}

TEST_F(CachingTest, KeepsSmallAndLargeApart) {
  Start({});
  Get(100);
  EXPECT_EQ(figures().reserved, 2 * kMiB);
  Get(3 * kMiB);
  EXPECT_EQ(figures().reserved, 22 * kMiB);
  Get(5 * kMiB);
  EXPECT_EQ(figures().reserved, 22 * kMiB);
  EXPECT_EQ(figures().segments, 2u);
  EXPECT_EQ(figures().allocated, 512 + 8 * kMiB);
  EXPECT_EQ(device_->calls(), 2u);
}

TEST_F(CachingTest, TakesTheSmallestThatFitsThenTheLowest) {
  Start({});
  const Handle a = Get(4 * kKiB), b = Get(512), c = Get(2 * kKiB), d = Get(512), e = Get(2 * kKiB);
  Get(512);
  const std::uint64_t at_c = AddressOf(c), at_a = AddressOf(a), at_e = AddressOf(e);
  EXPECT_LT(AddressOf(b), at_c);
  allocator_->Free(a);
  allocator_->Free(e);
  allocator_->Free(c);
  EXPECT_EQ(AddressOf(Get(2 * kKiB)), at_c);
  EXPECT_EQ(AddressOf(Get(2 * kKiB)), at_e);
  EXPECT_EQ(AddressOf(Get(1 * kKiB)), at_a);
  EXPECT_EQ(AddressOf(Get(3 * kKiB)), at_a + kKiB);
  EXPECT_NE(AddressOf(d), at_a);
}

TEST_F(CachingTest, ServesEachStreamFromItsOwn) {
  Start({});
  allocator_->Free(Get(512, 0));
  Get(512, 1);
  EXPECT_EQ(figures().segments, 2u);
  Get(512, 0);
  EXPECT_EQ(figures().segments, 2u);
}

TEST_F(CachingTest, SplitsLargeBlocksOnlyForMoreThanAMebibyte) {
  Start({});
  const Handle whole = Get(19 * kMiB);  // a segment of its own, of 20 MiB
  EXPECT_EQ(BytesOf(whole), 20 * kMiB) << "a rest of 1 MiB stays";
  allocator_->Free(whole);
  EXPECT_EQ(BytesOf(Get(19 * kMiB - 512)), 19 * kMiB - 512);
}

TEST_F(CachingTest, MergesWithBothNeighbours) {
  Start({});
  const Handle a = Get(512 * kKiB), b = Get(512 * kKiB), c = Get(1 * kMiB);
  EXPECT_EQ(figures().segments, 1u);
  allocator_->Free(a);
  allocator_->Free(c);
  allocator_->Free(b);
  EXPECT_EQ(allocator_->Inconsistency(), "");
  allocator_->EmptyCache();
  EXPECT_EQ(figures().reserved, 0u);
}

TEST_F(CachingTest, GivesCachedSegmentsBackWhenTheDeviceIsFull) {
  Start({}, 64 * kMiB);
  const Handle a = Get(30 * kMiB), b = Get(30 * kMiB);
  allocator_->Free(a);
  EXPECT_NE(Get(32 * kMiB), kNoHandle);
  EXPECT_EQ(figures().reserved, 62 * kMiB);
  EXPECT_EQ(figures().retries, 1u);
  EXPECT_EQ(Get(32 * kMiB), kNoHandle);
  EXPECT_EQ(figures().failures, 1u);
  EXPECT_EQ(figures().failed_bytes, 32 * kMiB);
  EXPECT_EQ(figures().failed_number, 3u);
  allocator_->Free(b);
}

TEST_F(CachingTest, KeepsOversizeBlocksWhole) {
  CachingOptions options;
  options.max_split = 32 * kMiB;
  Start(options);
  const Handle large = Get(60 * kMiB);
  const std::uint64_t at = AddressOf(large);
  allocator_->Free(large);
  EXPECT_NE(AddressOf(Get(2 * kMiB)), at) << "not for requests below max_split";
  EXPECT_NE(AddressOf(Get(40 * kMiB)), at) << "not for requests 20 MiB smaller";
  const Handle again = Get(40 * kMiB + 512);
  EXPECT_EQ(AddressOf(again), at);
  EXPECT_EQ(BytesOf(again), 60 * kMiB);
}

TEST_F(CachingTest, GivesOversizeSegmentsBackFirst) {
  CachingOptions options;
  options.max_split = 32 * kMiB;
  Start(options, 200 * kMiB);
  allocator_->Free(Get(20 * kMiB));
  const Handle a = Get(40 * kMiB), b = Get(60 * kMiB), c = Get(80 * kMiB);
  allocator_->Free(a);
  allocator_->Free(b);
  allocator_->Free(c);
  EXPECT_NE(Get(100 * kMiB), kNoHandle) << "80 MiB, and then 60 MiB go back";
  EXPECT_EQ(figures().reserved, 160 * kMiB);
  EXPECT_NE(Get(61 * kMiB), kNoHandle) << "40 MiB are not enough: everything goes back";
  EXPECT_EQ(figures().reserved, 162 * kMiB);
}

TEST_F(CachingTest, CollectsOldSegmentsBeyondTheThreshold) {
  CachingOptions options;
  options.gc_threshold = 0.5;
  Start(options, 200 * kMiB);
  const Handle a = Get(50 * kMiB), b = Get(40 * kMiB), c = Get(30 * kMiB);
  allocator_->Free(b);
  allocator_->Free(a);
  for (int i = 0; i < 10; ++i) allocator_->Free(Get(45 * kMiB));
  allocator_->Free(c);
  EXPECT_EQ(figures().reserved, 120 * kMiB);
  Get(60 * kMiB);
  EXPECT_EQ(figures().reserved, 140 * kMiB) << "that of 40 MiB went: older than the average";
  EXPECT_EQ(figures().retries, 0u);
}

TEST_F(CachingTest, KeepsToItsLimit) {
  CachingOptions options;
  options.limit = 30 * kMiB;
  Start(options, 100 * kMiB);
  EXPECT_NE(Get(20 * kMiB), kNoHandle);
  EXPECT_EQ(Get(11 * kMiB), kNoHandle);
  EXPECT_NE(Get(10 * kMiB), kNoHandle);
}

TEST_F(CachingTest, ExpandableSegmentsGrowByPages) {
  CachingOptions options;
  options.expandable = true;
  Start(options, 1024 * kMiB);
  const Handle a = Get(30 * kMiB);
  EXPECT_EQ(figures().reserved, 40 * kMiB);
  EXPECT_EQ(figures().segments, 1u);
  const Handle b = Get(30 * kMiB);
  EXPECT_EQ(AddressOf(b), AddressOf(a) + 30 * kMiB);
  EXPECT_EQ(figures().reserved, 60 * kMiB);
  Get(100);
  EXPECT_EQ(figures().reserved, 62 * kMiB);
  EXPECT_EQ(figures().segments, 2u);
  EXPECT_EQ(device_->calls(), (2 * 2 + 1) + (2 * 1 + 1) + (2 * 1 + 1));
}

TEST_F(CachingTest, ExpandableSegmentsUnmapWholePages) {
  CachingOptions options;
  options.expandable = true;
  Start(options, 200 * kMiB);
  const Handle a = Get(50 * kMiB), b = Get(30 * kMiB), c = Get(60 * kMiB);
  EXPECT_EQ(figures().reserved, 140 * kMiB);
  const std::uint64_t at = AddressOf(a);
  allocator_->Free(a);
  allocator_->EmptyCache();
  EXPECT_EQ(figures().reserved, 100 * kMiB) << "two pages; the third is shared with a block";
  EXPECT_EQ(allocator_->Inconsistency(), "");
  const Handle d = Get(45 * kMiB);
  EXPECT_EQ(AddressOf(d), at) << "the lowest addresses first";
  EXPECT_EQ(figures().reserved, 140 * kMiB);
  allocator_->Free(b);
  allocator_->Free(c);
  allocator_->Free(d);
  allocator_->EmptyCache();
  EXPECT_EQ(figures().reserved, 0u);
  EXPECT_EQ(figures().segments, 0u);
}

TEST_F(CachingTest, RecordedReleasesTakeOneSegment) {
  Start({});
  const Handle a = Get(30 * kMiB), b = Get(30 * kMiB), c = Get(12 * kMiB);
  const std::uint64_t at = AddressOf(b);
  allocator_->Free(a);
  allocator_->Free(b);
  allocator_->Free(c);
  EXPECT_FALSE(allocator_->ReleaseSegment(14 * kMiB, 0));
  EXPECT_TRUE(allocator_->ReleaseSegment(30 * kMiB, at));
  EXPECT_EQ(figures().reserved, 42 * kMiB);
  EXPECT_NE(AddressOf(Get(30 * kMiB)), at);
}

TEST_F(CachingTest, LiesWhereTheLogSaysSegmentsLay) {
  Start({});
  device_->ExpectAddress(2 * kMiB, 0x7000000);
  device_->ExpectAddress(2 * kMiB, 0x5000000);
  const Handle a = Get(1 * kMiB), b = Get(1 * kMiB), c = Get(1 * kMiB);
  EXPECT_EQ(AddressOf(a), 0x7000000u);
  EXPECT_EQ(AddressOf(c), 0x5000000u);
  allocator_->Free(a);
  allocator_->Free(b);
  allocator_->Free(c);
  Get(1 * kMiB);
  EXPECT_EQ(AddressOf(Get(512)), 0x5100000u) << "what is left of the lower one is smaller";
}

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
      << "the smallest that is large enough";
  const Handle tail = allocator.Allocate(27 * kMiB / 2, 0);
  EXPECT_EQ(allocator.PlaceOf(tail).address, base + 13 * kMiB / 2);
  EXPECT_EQ(allocator.figures().reserved, 22 * kMiB);
  allocator.Allocate(2 * kMiB, 0);
  EXPECT_EQ(allocator.figures().reserved, 42 * kMiB);
  for (const Handle handle : {handles[0], handles[1], handles[2], hole, tail})
    allocator.Free(handle);
  EXPECT_EQ(allocator.Inconsistency(), "");
  allocator.EmptyCache();
  EXPECT_EQ(allocator.figures().reserved, 20 * kMiB) << "of the block that is left";
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
    // With the hole between them there is no room for the third.
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
