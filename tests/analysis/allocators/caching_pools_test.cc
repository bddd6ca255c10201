// Private pools of PyTorch's caching allocator, and which decisions of the recording are repeated.
#include "analysis/allocators/caching.h"
#include "analysis/allocators/recorded.h"
#include "analysis/allocators/trace.h"
#include "analysis/base/sizes.h"
#include "gtest/gtest.h"
#include "tests/support/load_log.h"

namespace memprof::analysis::allocators {
namespace {

using testing::LoadLog;
using testing::LogBuilder;

constexpr StreamNumber kPrivate = 1;
constexpr std::uint64_t kBase = 0x700000000000;

TEST(CachingPoolsTest, APrivatePoolKeepsItsMemoryUntilItsOwnerHasGone) {
  for (const bool expandable : {false, true}) {
    Device device(100 * kMiB);
    CachingAllocator allocator({.expandable = expandable}, &device);
    allocator.SetPrivate(kPrivate);
    allocator.Free(allocator.Allocate(40 * kMiB, 0));
    allocator.Free(allocator.Allocate(40 * kMiB, kPrivate));
    EXPECT_EQ(allocator.Allocate(70 * kMiB, 2), kNoHandle) << "40 MiB serve nothing else";
    EXPECT_EQ(allocator.figures().reserved, 40 * kMiB) << "only the default pool was emptied";
    allocator.EmptyCache();
    EXPECT_EQ(allocator.figures().reserved, 40 * kMiB);
    allocator.EmptyPrivate(2);
    EXPECT_EQ(allocator.figures().reserved, 40 * kMiB) << "another pool's";
    allocator.EmptyPrivate(kPrivate);
    EXPECT_EQ(allocator.figures().reserved, 0u);
    EXPECT_EQ(allocator.Inconsistency(), "");
    EXPECT_NE(allocator.Allocate(70 * kMiB, 2), kNoHandle);
  }
}

TEST(CachingPoolsTest, GarbageIsNotCollectedFromPrivatePools) {
  Device device(100 * kMiB);
  CachingAllocator allocator({.gc_threshold = 0.3}, &device);
  allocator.SetPrivate(kPrivate);
  for (const StreamNumber stream : {StreamNumber{0}, kPrivate})
    allocator.Free(allocator.Allocate(20 * kMiB, stream));
  for (int i = 0; i < 5; ++i) allocator.Allocate(24 * kMiB, 2);
  EXPECT_EQ(allocator.figures().segments, 4u) << "the private one, and three of stream 2";
}

TEST(CachingPoolsTest, ExpandableSegmentsReleaseAllPagesAtOnce) {
  Device device;
  CachingAllocator allocator({.expandable = true}, &device);
  const Handle first = allocator.Allocate(60 * kMiB, 0), second = allocator.Allocate(20 * kMiB, 0);
  allocator.Free(first);
  EXPECT_TRUE(allocator.ReleaseSegment(20 * kMiB, 0));
  EXPECT_EQ(allocator.figures().reserved, 20 * kMiB);
  allocator.Free(second);
  EXPECT_EQ(allocator.Inconsistency(), "");
}

TEST(CachingPoolsTest, OfEqualBlocksTheOldestSegmentsIsTakenInLaterReleases) {
  for (const bool oldest : {false, true}) {
    Device device;
    device.ExpectAddress(2 * kMiB, kBase + 2 * kMiB);
    device.ExpectAddress(2 * kMiB, kBase);
    CachingAllocator allocator({}, &device);
    if (oldest) allocator.PreferOldestSegments();
    const Handle first = allocator.Allocate(kMiB, 0), rest = allocator.Allocate(kMiB, 0);
    const Handle second = allocator.Allocate(kMiB, 0), other = allocator.Allocate(kMiB, 0);
    for (const Handle handle : {first, rest, second, other}) allocator.Free(handle);
    EXPECT_EQ(allocator.PlaceOf(allocator.Allocate(kMiB, 0)).address,
              oldest ? kBase + 2 * kMiB : kBase);
    EXPECT_EQ(allocator.Inconsistency(), "");
  }
}

TEST(CachingPoolsTest, ExpandableSegmentsLieWhereTheyWereRecorded) {
  Device device;
  device.ExpectRange({.address = kBase, .bytes = 40 * kMiB});
  device.ExpectRange({.address = kBase - 400 * kMiB, .bytes = 400 * kMiB});
  CachingAllocator allocator({.expandable = true}, &device);
  const Handle first = allocator.Allocate(30 * kMiB, 0);
  EXPECT_EQ(allocator.PlaceOf(first).address, kBase);
  const Handle second = allocator.Allocate(20 * kMiB, 0);  // does not fit behind it
  EXPECT_EQ(allocator.PlaceOf(second).address, kBase - 400 * kMiB);
  allocator.Allocate(800 * kMiB, 0);  // does not fit into any that was announced
  EXPECT_EQ(allocator.Inconsistency(), "");
}

// Two pages of the default pool and one of a private one, with a block over both of the former.
struct Pages {
  LogBuilder log;
  static constexpr std::uint64_t kPage = 20 * kMiB, kPool = 7;

  Pages() {
    log.Alloc(Layer::kVmmAddress, kBase, 10 * kPage);
    for (const std::uint64_t i : {0, 1, 5}) {
      log.Alloc(Layer::kVmmPhysical, 1 + i, kPage);
      log.Event(Op::kMap, Layer::kVmmAddress, kBase + i * kPage, kPage, 0, {.aux0 = 1 + i});
      log.Alloc(Layer::kSegment, kBase + i * kPage, kPage, {.aux1 = i == 5 ? kPool : 0});
    }
    log.Alloc(Layer::kBlock, kBase, 30 * kMiB);
    log.Alloc(Layer::kBlock, kBase + 5 * kPage, 30 * kMiB / 2);
  }
  void Release(std::uint64_t i) { log.Free(Layer::kSegment, kBase + i * kPage); }
  std::vector<TraceEvent> Events() {
    log.Alloc(Layer::kBlock, kBase + 9 * kPage, 512);  // releases are known by the next request
    const auto session = LoadLog(log);
    const RecordedRun run = RecordedRuns(*session).at(0);
    EXPECT_EQ(run.trace.private_streams, std::vector<StreamNumber>{1});
    EXPECT_EQ(run.ranges.size(), 1u);
    std::vector<TraceEvent> events;
    for (const TraceEvent event : run.trace.events)
      if (event.op == TraceOp::kEmptyCache || event.op == TraceOp::kReleaseSegment)
        events.push_back(event);
    return events;
  }
};

TEST(CachingPoolsTest, AnEmptiedCacheIsKnownByItsPoolsOtherSegments) {
  Pages emptied;
  emptied.log.Free(Layer::kBlock, kBase);
  emptied.log.Free(Layer::kBlock, kBase + 5 * Pages::kPage);
  emptied.Release(0);
  emptied.Release(1);
  EXPECT_EQ(emptied.Events(), (std::vector<TraceEvent>{{TraceOp::kEmptyCache, 0}}))
      << "the private pool keeps its page";

  Pages partly;
  partly.log.Free(Layer::kBlock, kBase);
  partly.Release(1);
  EXPECT_EQ(partly.Events(), (std::vector<TraceEvent>{{TraceOp::kReleaseSegment, 0}}));

  Pages gone;
  gone.log.Free(Layer::kBlock, kBase + 5 * Pages::kPage);
  gone.Release(5);
  EXPECT_EQ(gone.Events(), (std::vector<TraceEvent>{{TraceOp::kEmptyCache, 1 + kPrivate}}));

  Pages in_use;  // of a block that begins in another page
  in_use.log.Free(Layer::kBlock, kBase + 5 * Pages::kPage);
  in_use.log.Alloc(Layer::kSegment, kBase + 3 * Pages::kPage, Pages::kPage);
  in_use.Release(3);
  EXPECT_EQ(in_use.Events(), (std::vector<TraceEvent>{{TraceOp::kEmptyCache, 0}}));
}

TEST(CachingPoolsTest, AfterAReleaseForWantOfMemoryTheRequestGetsNewMemory) {
  for (const bool failed : {false, true}) {
    LogBuilder log;
    const auto segment = [&](std::uint64_t address) {
      log.Alloc(Layer::kLinear, address, 20 * kMiB);
      log.Alloc(Layer::kSegment, address, 20 * kMiB);
    };
    segment(kBase);
    log.Alloc(Layer::kBlock, kBase, 2 * kMiB);  // 18 MiB are free behind it
    segment(kBase + 20 * kMiB);
    log.Alloc(Layer::kBlock, kBase + 20 * kMiB, 4 * kMiB);
    log.Free(Layer::kBlock, kBase + 20 * kMiB);
    if (failed) log.AllocFailed(Layer::kLinear, 20 * kMiB, {.result = 2});
    log.Free(Layer::kSegment, kBase + 20 * kMiB);
    log.Free(Layer::kLinear, kBase + 20 * kMiB);
    segment(kBase + 60 * kMiB);
    log.Alloc(Layer::kBlock, kBase + 60 * kMiB, 3 * kMiB);
    log.Alloc(Layer::kBlock, kBase + 63 * kMiB, 3 * kMiB);
    const auto session = LoadLog(log);
    const RecordedRun run = RecordedRuns(*session).at(0);
    std::vector<bool> grown;
    for (const TraceBlock& block : run.trace.blocks) grown.push_back(block.grown);
    EXPECT_EQ(grown, (std::vector<bool>{false, false, failed, false}));
    Device device;
    CachingAllocator allocator({}, &device);
    Replay(run.trace, &allocator, &device, {.as_recorded = true});
    EXPECT_EQ(allocator.figures().segments, failed ? 2u : 1u);
  }
}

TEST(CachingPoolsTest, ATraceNamesItsPrivateStreams) {
  Trace trace;
  trace.private_streams = {kPrivate};
  for (const StreamNumber stream : {StreamNumber{0}, kPrivate})
    trace.Free(trace.Allocate(20 * kMiB, stream));
  trace.events.push_back({TraceOp::kEmptyCache, 0});
  Device device;
  CachingAllocator allocator({}, &device);
  Replay(trace, &allocator, &device);
  EXPECT_EQ(allocator.figures().reserved, 20 * kMiB);
  trace.events.push_back({TraceOp::kEmptyCache, 1 + kPrivate});
  CachingAllocator other({}, &device);
  Replay(trace, &other, &device);
  EXPECT_EQ(other.figures().reserved, 0u);
}

}  // namespace
}  // namespace memprof::analysis::allocators
