// Failed requests: what belongs together, causes, remedies and changes by hand.
#include "analysis/oom/oom.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "analysis/load/load.h"
#include "analysis/oom/words.h"
#include "tests/analysis/oom/case.h"
#include "tests/support/temp_file.h"

namespace memprof::analysis {
namespace {

using testing::LogBuilder;

using testing::AllocatorGivesUp;
using testing::Case;
using testing::DriverRefuses;
using testing::kBase;
using testing::Load;
using testing::Segment;
using testing::Sum;

TEST(OomTest, NothingFailed) {
  LogBuilder log;
  log.Alloc(Layer::kLinear, kBase, kMiB);
  EXPECT_TRUE(Load(log).failures.empty());
}

TEST(OomTest, AllocatorAndDriverAreOneFailure) {
  LogBuilder log;
  log.Device(0, 100 * kMiB);
  DriverRefuses(log, 20 * kMiB, 14 * kMiB, 100 * kMiB);
  DriverRefuses(log, 20 * kMiB, 14 * kMiB, 100 * kMiB);
  AllocatorGivesUp(log, 3 * kMiB);
  const Case c = Load(log);
  ASSERT_EQ(c.failures.size(), 1u);
  EXPECT_EQ(c.failures[0].event.value, 2u);
  EXPECT_EQ(c.failures[0].driver.value, 1u);
  EXPECT_EQ(c.failures[0].bytes, 3 * kMiB);
  EXPECT_EQ(c.failures[0].driver_bytes, 20 * kMiB);
  EXPECT_EQ(c.failures[0].attempts, 2);
  EXPECT_FALSE(c.failures[0].recovered);
  EXPECT_EQ(c.last.cause, FailureCause::kSegmentSize);
  ASSERT_NE(c.Find(RemedyKind::kLargerDevice), nullptr);
  EXPECT_EQ(c.Find(RemedyKind::kLargerDevice)->bytes, 6 * kMiB);
}

TEST(OomTest, WhatBelongsToAnotherThreadStaysApart) {
  LogBuilder log;
  log.Device(0, 100 * kMiB);
  log.Thread(2, 12, "other");
  log.AllocFailed(Layer::kLinear, 20 * kMiB, {.thread = 2, .aux0 = 1, .aux1 = kMiB, .result = 2});
  AllocatorGivesUp(log, 3 * kMiB);
  EXPECT_EQ(Load(log).failures.size(), 2u);
}

TEST(OomTest, WhatTheDriverRefusedOnAnotherDeviceStaysApart) {
  LogBuilder log;
  log.Device(0, 100 * kMiB);
  log.Device(1, 100 * kMiB);
  log.AllocFailed(Layer::kLinear, 20 * kMiB, {.device = 1, .aux1 = 100 * kMiB, .result = 2});
  AllocatorGivesUp(log, 3 * kMiB);
  EXPECT_EQ(Load(log).failures.size(), 2u);
}

TEST(OomTest, WhatIsUnusedAnywayIsNoGainOfASite) {
  LogBuilder log;
  log.Device(0, 64 * kMiB);
  Segment(log, kBase, 40 * kMiB);
  log.Alloc(Layer::kBlock, kBase, kMiB);
  log.Free(Layer::kBlock, kBase);
  log.Alloc(Layer::kLinear, kBase + 64 * kMiB, 4 * kMiB);
  DriverRefuses(log, 30 * kMiB, 20 * kMiB, 64 * kMiB);
  const Case c = Load(log);
  const Remedy* sites = c.Find(RemedyKind::kSites);
  ASSERT_NE(sites, nullptr);
  EXPECT_FALSE(sites->fits);
  EXPECT_EQ(sites->bytes, 4 * kMiB);
  EXPECT_EQ(sites->short_by, 6 * kMiB);
}

TEST(OomTest, RecoveredWhenTheThreadThenGetsAsMuch) {
  LogBuilder log;
  log.Device(0, 100 * kMiB);
  DriverRefuses(log, 20 * kMiB, 0, 100 * kMiB);
  log.Alloc(Layer::kLinear, kBase, 20 * kMiB);
  DriverRefuses(log, 30 * kMiB, 0, 100 * kMiB);
  log.Alloc(Layer::kLinear, kBase + 64 * kMiB, 10 * kMiB);
  const Case c = Load(log);
  ASSERT_EQ(c.failures.size(), 2u);
  EXPECT_TRUE(c.failures[0].recovered);
  EXPECT_FALSE(c.failures[1].recovered);
}

TEST(OomTest, CapacityIsShortByWhatIsMissing) {
  LogBuilder log;
  log.Device(0, 100 * kMiB);
  const int big = log.Stack({"main (a.cc:1)", "Big (a.cc:2)"});
  const int small = log.Stack({"main (a.cc:1)", "Small (a.cc:3)"});
  log.Alloc(Layer::kLinear, kBase, 60 * kMiB, {.stack = big});
  log.Alloc(Layer::kLinear, kBase + 64 * kMiB, 20 * kMiB, {.stack = small});
  DriverRefuses(log, 30 * kMiB, 15 * kMiB, 100 * kMiB);
  const Case c = Load(log);
  EXPECT_EQ(c.last.cause, FailureCause::kCapacity);
  EXPECT_EQ(c.last.missing, 15 * kMiB);
  EXPECT_EQ(c.last.space.untracked, 5 * kMiB);
  EXPECT_EQ(Sum(c.last.space), c.last.space.total + c.last.space.elsewhere);
  const Remedy* sites = c.Find(RemedyKind::kSites);
  ASSERT_NE(sites, nullptr);
  EXPECT_TRUE(sites->fits);
  ASSERT_EQ(sites->sites.size(), 1u);  // both would do, the smaller is enough
  EXPECT_EQ(c.SiteName(sites->sites[0].site), "Small");
  const Remedy* smaller = c.Find(RemedyKind::kSmallerRequest);
  ASSERT_NE(smaller, nullptr);
  EXPECT_EQ(smaller->bytes, 15 * kMiB);
}

TEST(OomTest, OtherProcessesCount) {
  LogBuilder log;
  log.Device(0, 100 * kMiB);
  log.Event(Op::kMemoryInfo, Layer::kUnspecified, 0, 10 * kMiB, 0,
            {.aux0 = 100 * kMiB, .aux1 = 1 + 70 * kMiB});
  DriverRefuses(log, 30 * kMiB, 10 * kMiB, 100 * kMiB);
  const Case c = Load(log);
  EXPECT_EQ(c.last.space.others, 70 * kMiB);
  EXPECT_EQ(c.last.space.untracked, 20 * kMiB);
  const Remedy* others = c.Find(RemedyKind::kOtherProcesses);
  ASSERT_NE(others, nullptr);
  EXPECT_TRUE(others->fits);
}

// Two holes of 4 MiB with a small block between them.
void TwoHoles(LogBuilder& log, int pin, std::uint64_t stream = 0) {
  const testing::EventFields fields{.stack = pin, .stream = stream};
  Segment(log, kBase, 10 * kMiB, {.stream = stream});
  log.Alloc(Layer::kBlock, kBase, kMiB, fields);
  log.Alloc(Layer::kBlock, kBase + kMiB, 4 * kMiB, fields);
  log.Alloc(Layer::kBlock, kBase + 5 * kMiB, 512, fields);
  log.Alloc(Layer::kBlock, kBase + 5 * kMiB + 512, 5 * kMiB - 512, fields);
  log.Free(Layer::kBlock, kBase + kMiB);
  log.Free(Layer::kBlock, kBase + 5 * kMiB + 512);
}

TEST(OomTest, FragmentationNamesTheBlockInTheWay) {
  LogBuilder log;
  log.Device(0, 20 * kMiB);
  TwoHoles(log, log.Stack({"main (a.cc:1)", "Pin (a.cc:9)"}));
  DriverRefuses(log, 20 * kMiB, 0, 20 * kMiB);
  AllocatorGivesUp(log, 8 * kMiB);
  const Case c = Load(log);
  EXPECT_EQ(c.last.cause, FailureCause::kFragmentation);
  EXPECT_EQ(c.last.space.own_pool.count, 2u);
  EXPECT_EQ(c.last.space.largest_own, 5 * kMiB - 512);
  const Remedy* blocks = c.Find(RemedyKind::kFreeBlocks);
  ASSERT_NE(blocks, nullptr);
  ASSERT_EQ(blocks->blocks.size(), 1u);
  EXPECT_EQ(blocks->bytes, 512u);
  EXPECT_TRUE(c.Find(RemedyKind::kPacked)->fits);
  // Of the holes, three pages of 2 MiB are whole.
  EXPECT_EQ(c.Find(RemedyKind::kExpandable)->bytes, 6 * kMiB);
  EXPECT_EQ(c.Find(RemedyKind::kExpandable)->short_by, 2 * kMiB);
  EXPECT_EQ(c.Find(RemedyKind::kSmallerRequest)->bytes, 5 * kMiB - 512);
  EXPECT_EQ(Sum(c.last.space), c.last.space.total + c.last.space.elsewhere);
}

TEST(OomTest, AHoleOfAnotherStreamIsStranded) {
  LogBuilder log;
  log.Device(0, 40 * kMiB);
  TwoHoles(log, 0, 0x51);
  Segment(log, kBase + 64 * kMiB, 4 * kMiB);
  log.Alloc(Layer::kBlock, kBase + 64 * kMiB, 4 * kMiB);
  DriverRefuses(log, 20 * kMiB, 0, 40 * kMiB);
  AllocatorGivesUp(log, 3 * kMiB);
  const Case c = Load(log);
  EXPECT_EQ(c.last.stream, 0u);
  EXPECT_EQ(c.last.cause, FailureCause::kOtherPool);
  EXPECT_EQ(c.last.space.other_pools.count, 2u);
  EXPECT_TRUE(c.Find(RemedyKind::kOnePool)->fits);
}

// A segment of 10 MiB that a captured graph keeps, with a hole of 8 MiB, and an empty one of 6.
void GraphPool(LogBuilder& log, std::uint64_t pool, std::uint64_t capture) {
  Segment(log, kBase, 10 * kMiB, {.stream = 7, .aux1 = pool});
  Segment(log, kBase + 64 * kMiB, 6 * kMiB, {.stream = 7, .aux1 = pool});
  log.Alloc(Layer::kBlock, kBase, 8 * kMiB, {.stream = 7, .aux1 = pool});
  log.Free(Layer::kBlock, kBase);
  log.Alloc(Layer::kBlock, kBase + 8 * kMiB, 2 * kMiB, {.stream = 7, .aux1 = capture});
}

TEST(OomTest, MemoryOfGraphsServesNobodyElse) {
  LogBuilder log;
  log.Device(0, 40 * kMiB);
  GraphPool(log, 1ull << 32, 1ull << 32);
  Segment(log, kBase + 128 * kMiB, 4 * kMiB);
  log.Alloc(Layer::kBlock, kBase + 128 * kMiB, 4 * kMiB);
  DriverRefuses(log, 20 * kMiB, 0, 40 * kMiB);
  AllocatorGivesUp(log, 5 * kMiB);
  const Case c = Load(log);
  EXPECT_EQ(c.last.private_pool, 0u);
  EXPECT_EQ(c.last.space.private_pools.bytes, 14 * kMiB);
  EXPECT_EQ(c.last.space.private_pools.largest, 8 * kMiB);
  EXPECT_EQ(c.last.space.private_pools.count, 2u);
  EXPECT_EQ(c.last.space.cached.bytes, 0u);
  EXPECT_EQ(c.last.space.whole_pages, 0u);
  EXPECT_EQ(c.last.cause, FailureCause::kCapacity);
  EXPECT_EQ(c.Find(RemedyKind::kReleaseCache), nullptr);
  EXPECT_EQ(c.Find(RemedyKind::kOnePool), nullptr);
  EXPECT_THAT(FailureVerdict(c.last), ::testing::HasSubstr("14.0 MiB lay unused in private pools"));
  EXPECT_EQ(Sum(c.last.space), c.last.space.total + c.last.space.elsewhere);
}

TEST(OomTest, ARequestOfACaptureIsForItsPool) {
  LogBuilder log;
  log.Device(0, 40 * kMiB);
  GraphPool(log, 1ull << 32, 2ull << 32);  // a second capture in the same pool
  log.Event(Op::kFrameworkOom, Layer::kBlock, 0, 9 * kMiB, 0, {.stream = 7});
  const Case c = Load(log);
  EXPECT_EQ(c.last.stream, 7u);
  EXPECT_EQ(c.last.private_pool, 1ull << 32);
  EXPECT_EQ(c.last.space.private_pools.count, 0u);
  EXPECT_EQ(c.last.space.largest_own, 8 * kMiB);
  // What follows in the default stream is not, though the block before it was.
  AllocatorGivesUp(log, 9 * kMiB);
  const Case after = Load(log);
  EXPECT_EQ(after.last.stream, 0u);
  EXPECT_EQ(after.last.private_pool, 0u);
  EXPECT_EQ(after.last.space.private_pools.bytes, 14 * kMiB);
}

TEST(OomTest, SmallRequestsDoNotUseLargeSegments) {
  LogBuilder log;
  log.Device(0, 40 * kMiB);
  TwoHoles(log, 0);
  DriverRefuses(log, 2 * kMiB, kMiB, 40 * kMiB);
  AllocatorGivesUp(log, 1024);
  const Case c = Load(log);
  EXPECT_TRUE(c.last.small_pool);
  EXPECT_EQ(c.last.cause, FailureCause::kOtherPool);
}

TEST(OomTest, AHoleThatWasThereIsTheAllocatorsAffair) {
  LogBuilder log;
  log.Device(0, 40 * kMiB);
  TwoHoles(log, 0);
  DriverRefuses(log, 20 * kMiB, 0, 40 * kMiB);
  AllocatorGivesUp(log, 3 * kMiB);
  EXPECT_EQ(Load(log).last.cause, FailureCause::kAllocatorRule);
}

TEST(OomTest, UnusedSegmentsAreAReserveForOthers) {
  LogBuilder log;
  log.Device(0, 40 * kMiB);
  Segment(log, kBase, 20 * kMiB);
  log.Alloc(Layer::kBlock, kBase, kMiB);
  log.Free(Layer::kBlock, kBase);
  DriverRefuses(log, 30 * kMiB, 20 * kMiB, 40 * kMiB);
  const Case c = Load(log);
  EXPECT_EQ(c.last.cause, FailureCause::kReserve);
  EXPECT_EQ(c.last.space.cached.bytes, 20 * kMiB);
  EXPECT_TRUE(c.Find(RemedyKind::kReleaseCache)->fits);
  EXPECT_EQ(c.last.space.other_pools.bytes, 0u);
  EXPECT_EQ(Sum(c.last.space), c.last.space.total);
  EXPECT_EQ(c.last.remedies[0].kind, RemedyKind::kReleaseCache);
}

TEST(OomTest, PoolsAreAReserveToo) {
  LogBuilder log;
  log.Device(0, 40 * kMiB);
  log.Alloc(Layer::kStreamOrdered, kBase, kMiB, {.aux0 = 0xbeef});
  log.Event(Op::kPoolSample, Layer::kUnspecified, 0xbeef, 31 * kMiB, 0, {.aux0 = kMiB});
  DriverRefuses(log, 20 * kMiB, 0, 40 * kMiB);
  const Case c = Load(log);
  EXPECT_EQ(c.last.cause, FailureCause::kReserve);
  EXPECT_EQ(c.last.space.pools, 30 * kMiB);
  EXPECT_TRUE(c.Find(RemedyKind::kTrimPools)->fits);
}

TEST(OomTest, WithoutCapacityItIsKnownWhatAllocatorsHad) {
  LogBuilder log;
  TwoHoles(log, 0);
  AllocatorGivesUp(log, 8 * kMiB);
  const Case c = Load(log);
  EXPECT_EQ(c.last.space.total, 0u);
  EXPECT_EQ(c.last.space.elsewhere, 0u);
  EXPECT_EQ(c.last.cause, FailureCause::kFragmentation);
  EXPECT_EQ(c.Find(RemedyKind::kLargerDevice), nullptr);
  LogBuilder full;
  Segment(full, kBase, 4 * kMiB);
  full.Alloc(Layer::kBlock, kBase, 4 * kMiB);
  AllocatorGivesUp(full, 8 * kMiB);
  EXPECT_EQ(Load(full).last.cause, FailureCause::kUnknown);
}

TEST(OomTest, OtherCauses) {
  const auto cause = [](Layer layer, std::uint64_t bytes, std::uint64_t free, std::uint32_t result,
                        int device = 0) {
    LogBuilder log;
    log.AllocFailed(layer, bytes,
                    {.device = device, .aux0 = free, .aux1 = 40 * kMiB, .result = result});
    return Load(log).last.cause;
  };
  EXPECT_EQ(cause(Layer::kLinear, 41 * kMiB, 30 * kMiB, 2), FailureCause::kTooLarge);
  EXPECT_EQ(cause(Layer::kLinear, 10 * kMiB, 30 * kMiB, 2), FailureCause::kDespiteFree);
  EXPECT_EQ(cause(Layer::kLinear, 10 * kMiB, 30 * kMiB, 1), FailureCause::kRefused);
  EXPECT_EQ(cause(Layer::kPinned, 10 * kMiB, 30 * kMiB, 2), FailureCause::kHostMemory);
  EXPECT_EQ(cause(Layer::kUnspecified, 0, 30 * kMiB, 2), FailureCause::kUnknown);
  EXPECT_EQ(cause(Layer::kLinear, 10 * kMiB, 0, 2, kNoDevice), FailureCause::kUnknown);
}

TEST(OomTest, NamesNoFrameThatOnlyReports) {
  LogBuilder log;
  log.Device(0, 40 * kMiB);
  for (int i = 0; i < 8; ++i) {
    const int stack =
        log.Stack({"main (a.cc:1)", "Layer" + std::to_string(i) + " (a.cc:5)", "Tensor (t.cc:1)"});
    log.Alloc(Layer::kLinear, kBase + static_cast<std::uint64_t>(i) * kMiB, kMiB, {.stack = stack});
  }
  const int failing =
      log.Stack({"main (a.cc:1)", "Layer3 (a.cc:6)", "Tensor (t.cc:1)", "ReportOom (report.cc:1)"});
  DriverRefuses(log, 40 * kMiB, 0, 40 * kMiB, failing);
  EXPECT_EQ(Load(log).last.site.function, "Layer3");
}

// Two processes on one device: the other one's holes are not for this one, and what it holds is
// told once.
TEST(OomTest, OtherProcessesOfTheSession) {
  const testing::TempDirectory directory;
  std::vector<std::string> paths;
  for (const bool fails : {false, true}) {
    LogBuilder log;
    log.header().set_pid(fails ? 11 : 10);
    log.Device(0, 100 * kMiB);
    const std::uint64_t base = kBase + (fails ? 0x10000000 : 0);
    Segment(log, base, 20 * kMiB);
    log.Alloc(Layer::kBlock, base, fails ? 20 * kMiB : kMiB);
    if (fails) {
      log.AdvanceTime(1'000'000);
      log.Event(Op::kMemoryInfo, Layer::kUnspecified, 0, 0, 0,
                {.aux0 = 100 * kMiB, .aux1 = 1 + 70 * kMiB});
      DriverRefuses(log, 20 * kMiB, 0, 100 * kMiB);
      AllocatorGivesUp(log, 8 * kMiB);
    }
    paths.push_back(directory.Write(fails ? "b.mprof" : "a.mprof", log.Bytes()));
  }
  const auto session = LoadLogs(paths, {.find_steps = false});
  ASSERT_TRUE(session.ok()) << session.status();
  const std::vector<FailedRequest> failures = FindFailures(**session);
  ASSERT_EQ(failures.size(), 1u);
  Symbols symbols(*session);
  SiteGroups sites(**session, symbols);
  const FailureReport report = FailureExplainer(**session, symbols, sites).Explain(failures[0]);
  const DeviceSpace& space = report.space;
  EXPECT_EQ(Sum(space), space.total + space.elsewhere);
  EXPECT_EQ(space.blocks, 21 * kMiB);  // of both
  EXPECT_EQ(space.own_pool.count, 0u);
  EXPECT_EQ(space.other_pools.count, 0u);
  EXPECT_EQ(space.foreign.bytes, 19 * kMiB);
  EXPECT_EQ(space.largest_other, 0u);
  EXPECT_EQ(report.cause, FailureCause::kCapacity);
  EXPECT_EQ(space.others, 50 * kMiB);  // 70, less the segment that the session knows of
}

TEST(OomTest, HeadroomBetweenSamples) {
  LogBuilder log;
  log.Device(0, 100 * kMiB);
  log.Event(Op::kMemoryInfo, Layer::kUnspecified, 0, 90 * kMiB, 0, {.aux0 = 100 * kMiB});
  log.Step(1);
  log.Alloc(Layer::kLinear, kBase, 70 * kMiB);
  log.Free(kBase);
  log.Event(Op::kMemoryInfo, Layer::kUnspecified, 0, 85 * kMiB, 0, {.aux0 = 100 * kMiB});
  const Case c = Load(log);
  const std::vector<Headroom> rooms = FindHeadroom(*c.session);
  ASSERT_EQ(rooms.size(), 1u);
  EXPECT_EQ(rooms[0].lowest, 20 * kMiB);  // 10 MiB of somebody else's, and ours
  EXPECT_EQ(rooms[0].step, 1);
  EXPECT_EQ(rooms[0].lowest_free, 85 * kMiB);
  EXPECT_EQ(rooms[0].samples, 2u);
}

}  // namespace
}  // namespace memprof::analysis
