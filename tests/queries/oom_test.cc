// Failed requests: what belongs together, causes, remedies and changes by hand.
#include "analysis/oom.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "analysis/oom_words.h"
#include "tests/queries/oom_case.h"
#include "tests/store/temp_file.h"

namespace memprof::analysis {
namespace {

using testing::LogBuilder;

using testing::AllocatorGivesUp;
using testing::Case;
using testing::DriverRefuses;
using testing::kBase;
using testing::kMiB;
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

TEST(OomTest, ComparesWithTheSameCallOfTheStepBefore) {
  LogBuilder log;
  log.Device(0, 40 * kMiB);
  const int work = log.Stack({"main (a.cc:1)", "Work (a.cc:2)"});
  const int leak = log.Stack({"main (a.cc:1)", "Leak (a.cc:3)"});
  for (std::uint64_t step = 0; step < 2; ++step) {
    log.Step(step);
    log.Alloc(Layer::kLinear, kBase + step * kMiB, kMiB, {.stack = leak});
    log.Alloc(Layer::kLinear, kBase + 32 * kMiB, 4 * kMiB, {.stack = work});
    log.Alloc(Layer::kLinear, kBase + 40 * kMiB, 5 * kMiB, {.stack = work});
    log.Free(kBase + 32 * kMiB);
    log.Free(kBase + 40 * kMiB);
  }
  log.Step(2);
  log.Alloc(Layer::kLinear, kBase + 2 * kMiB, kMiB, {.stack = leak});
  log.Alloc(Layer::kLinear, kBase + 32 * kMiB, 4 * kMiB, {.stack = work});
  DriverRefuses(log, 5 * kMiB, 4 * kMiB, 40 * kMiB, work);
  const Case c = Load(log);
  EXPECT_EQ(c.last.compared_step, 1);
  EXPECT_TRUE(c.last.same_call);
  EXPECT_EQ(c.last.live_before, 6 * kMiB);
  EXPECT_EQ(c.last.live_after, 7 * kMiB);
  ASSERT_EQ(c.last.changes.size(), 1u);
  EXPECT_EQ(c.SiteName(c.last.changes[0].site), "Leak");
  EXPECT_EQ(c.last.changes[0].before, 2 * kMiB);
  EXPECT_EQ(c.last.changes[0].after, 3 * kMiB);
  // What grew is named before what is smallest.
  ASSERT_NE(c.Find(RemedyKind::kSites), nullptr);
  EXPECT_EQ(c.SiteName(c.Find(RemedyKind::kSites)->sites[0].site), "Leak");
}

// 30 steps that keep 2 MiB each; the 31st finds no room for its work. `hole` lies unused.
Case GrowingRun(std::uint64_t hole, bool leaks = true) {
  LogBuilder log;
  log.Device(0, 512 * kMiB);
  const int work = log.Stack({"main (a.cc:1)", "Work (a.cc:2)"});
  const int leak = log.Stack({"main (a.cc:1)", "Keep (a.cc:3)"});
  Segment(log, kBase, 100 * kMiB + hole);
  const std::uint64_t room = kBase + 64 * kMiB;  // 36 MiB and the hole
  for (std::uint64_t step = 0; step <= 30; ++step) {
    log.Step(step);
    if (leaks || step == 0)
      log.Alloc(Layer::kBlock, kBase + step * 2 * kMiB, leaks ? 2 * kMiB : 62 * kMiB,
                {.stack = leak, .aux0 = 2 * kMiB});
    log.Alloc(Layer::kBlock, room, 20 * kMiB, {.stack = work, .aux0 = 20 * kMiB});
    if (step < 30) log.Free(Layer::kBlock, room);
  }
  DriverRefuses(log, 20 * kMiB, kMiB, 512 * kMiB, work);
  AllocatorGivesUp(log, 20 * kMiB, work);
  return Load(log);
}

TEST(OomTest, ALeakThatFilledTheDeviceIsNamedFirst) {
  const Case c = GrowingRun(2 * kMiB);
  EXPECT_EQ(c.last.cause, FailureCause::kFragmentation) << "true, and of little use";
  ASSERT_TRUE(c.last.growth);
  EXPECT_EQ(c.last.growth->site.function, "Keep");
  EXPECT_EQ(c.last.growth->sites, 1u);
  EXPECT_EQ(c.last.growth->bytes, 62 * kMiB);
  EXPECT_DOUBLE_EQ(c.last.growth->bytes_per_step, 2.0 * kMiB);
  ASSERT_FALSE(c.last.remedies.empty());
  ASSERT_EQ(c.last.remedies[0].kind, RemedyKind::kSites);
  EXPECT_EQ(c.SiteName(c.last.remedies[0].sites[0].site), "Keep");
}

// An evaluation without steps, of `turns` batches; what it makes of each is kept or not.
Case Evaluation(int turns, bool keeps, bool loads) {
  LogBuilder log;
  log.Device(0, 512 * kMiB);
  const int load = log.Stack({"main (a.cc:1)", "Evaluate (a.cc:7)"});
  const int layer = log.Stack({"main (a.cc:1)", "Evaluate (a.cc:8)"});
  Segment(log, kBase, 100 * kMiB);
  std::uint64_t at = kBase + 8 * kMiB;
  for (int turn = 0; turn < turns; ++turn) {
    if (loads) log.Alloc(Layer::kBlock, kBase, 2 * kMiB, {.stack = load});
    for (const std::uint64_t bytes : {2 * kMiB, kMiB}) {
      log.Alloc(Layer::kBlock, at, bytes, {.stack = layer});
      if (!keeps) log.Free(Layer::kBlock, at);
      at += bytes;
    }
    if (loads) log.Free(Layer::kBlock, kBase);
  }
  DriverRefuses(log, 20 * kMiB, kMiB, 512 * kMiB, layer);
  AllocatorGivesUp(log, 20 * kMiB, layer);
  return Load(log);
}

TEST(OomTest, WithoutStepsTheLineThatGrewWithEveryTurnIsNamed) {
  for (const bool loads : {false, true}) {
    const Case c = Evaluation(25, true, loads);
    ASSERT_TRUE(c.last.growth) << loads;
    EXPECT_EQ(c.last.growth->site.line, 8);
    EXPECT_EQ(c.last.growth->turns, 25u);
    EXPECT_EQ(c.last.growth->bytes, 75 * kMiB);
    EXPECT_DOUBLE_EQ(c.last.growth->bytes_per_step, 3.0 * kMiB);
    ASSERT_EQ(c.last.remedies.at(0).kind, RemedyKind::kSites);
    EXPECT_EQ(c.last.remedies[0].bytes, 75 * kMiB);
    for (std::size_t i = 2; i < c.last.remedies.size() && c.last.remedies[i].fits; ++i)
      EXPECT_GE(c.last.remedies[i - 1].beyond, c.last.remedies[i].beyond);
  }
}

TEST(OomTest, WithoutTurnsThatKeepSomethingNothingGrew) {
  EXPECT_FALSE(Evaluation(25, false, true).last.growth);
  EXPECT_FALSE(Evaluation(2, true, true).last.growth) << "too few turns";
}

TEST(OomTest, InTheFirstStepWhatIsToComeIsTold) {
  for (const bool in_backward : {false, true}) {
    LogBuilder log;
    log.Device(0, 100 * kMiB);
    const int made = log.Stack({"main (a.cc:1)", "Parameter::Parameter (p.cc:2)"});
    const int forward = log.Stack({"main (a.cc:1)", "Model::Forward (m.cc:3)"});
    const int backward = log.Stack({"main (a.cc:1)", "Model::Backward (m.cc:4)"});
    log.Alloc(Layer::kLinear, kBase, 10 * kMiB, {.stack = made});
    log.Alloc(Layer::kLinear, kBase + 10 * kMiB, 80 * kMiB, {.stack = forward});
    if (in_backward) log.Alloc(Layer::kLinear, kBase + 90 * kMiB, kMiB, {.stack = backward});
    DriverRefuses(log, 20 * kMiB, 8 * kMiB, 100 * kMiB, forward);
    const FailureReport report = Load(log).last;
    ASSERT_TRUE(report.first_step);
    EXPECT_EQ(report.first_step->parameters, 10 * kMiB);
    EXPECT_EQ(report.first_step->gradients, (in_backward ? 9 : 10) * kMiB) << "1 MiB is there";
    EXPECT_EQ(report.first_step->optimizer_state, 20 * kMiB);
    EXPECT_FALSE(report.growth);
  }
}

// The optimizer makes its state when it is first called: of 20 MiB with Adam, 5 are there.
TEST(OomTest, InTheFirstCallOfTheOptimizerItsStateIsToCome) {
  for (const bool goes_on : {false, true}) {
    LogBuilder log;
    log.Device(0, 100 * kMiB);
    const int made = log.Stack({"main (a.cc:1)", "Parameter::Parameter (p.cc:2)"});
    const int forward = log.Stack({"main (a.cc:1)", "Model::Forward (m.cc:3)"});
    const int optimizer = log.Stack({"main (a.cc:1)", "Adam::Step (adam.cc:4)"});
    log.Alloc(Layer::kLinear, kBase, 10 * kMiB, {.stack = made});
    log.Alloc(Layer::kLinear, kBase + 10 * kMiB, 80 * kMiB, {.stack = forward});
    log.Alloc(Layer::kLinear, kBase + 90 * kMiB, 5 * kMiB, {.stack = optimizer});
    if (goes_on) log.Alloc(Layer::kLinear, kBase + 95 * kMiB, kMiB, {.stack = forward});
    DriverRefuses(log, 8 * kMiB, 4 * kMiB, 100 * kMiB, optimizer);
    const FailureReport report = Load(log).last;
    ASSERT_EQ(report.first_step.has_value(), !goes_on) << "a second step had begun";
    if (goes_on) continue;
    EXPECT_TRUE(report.first_step->optimizer);
    EXPECT_EQ(report.first_step->gradients, 0u);
    EXPECT_EQ(report.first_step->optimizer_state, 15 * kMiB);
  }
}

// Steps of 10 MiB, and one of 60 in which the next request fails.
Case LargerStepRun(std::uint64_t last) {
  LogBuilder log;
  log.Device(0, 100 * kMiB);
  const int batch = log.Stack({"main (a.cc:1)", "Load (a.cc:2)"});
  const int pass = log.Stack({"main (a.cc:1)", "Run (a.cc:3)"});
  for (std::uint64_t step = 0; step < 6; ++step) {
    log.Step(step);
    const std::uint64_t bytes = step < 5 ? 9 * kMiB : last;
    log.Alloc(Layer::kLinear, kBase, kMiB, {.stack = batch});
    log.Alloc(Layer::kLinear, kBase + kMiB, bytes, {.stack = pass});
    if (step == 5) break;
    log.Free(Layer::kLinear, kBase + kMiB);
    log.Free(Layer::kLinear, kBase);
  }
  DriverRefuses(log, 8 * kMiB, 4 * kMiB, 100 * kMiB, pass);
  return Load(log);
}

TEST(OomTest, AStepThatHeldMoreThanAllBeforeIsTold) {
  const Case c = LargerStepRun(59 * kMiB);
  ASSERT_TRUE(c.last.larger_step);
  EXPECT_EQ(c.last.larger_step->live, 60 * kMiB);
  EXPECT_EQ(c.last.larger_step->highest_before, 10 * kMiB);
  EXPECT_EQ(c.last.larger_step->site.line, 3);
  EXPECT_EQ(c.last.larger_step->more, 59 * kMiB);
  EXPECT_FALSE(c.last.growth || c.last.first_step);
  ASSERT_EQ(c.last.remedies.at(0).kind, RemedyKind::kSites) << "what holds most leaves most";
  EXPECT_EQ(c.last.remedies[0].bytes, 59 * kMiB);
  for (std::size_t i = 1; i < c.last.remedies.size() && c.last.remedies[i].fits; ++i)
    EXPECT_GE(c.last.remedies[i - 1].beyond, c.last.remedies[i].beyond);
  EXPECT_FALSE(LargerStepRun(9 * kMiB).last.larger_step) << "as the others";
  EXPECT_FALSE(LargerStepRun(16 * kMiB).last.larger_step) << "by less than was asked for";
}

// A step goes up to 80 MiB; the last one fails on its way there, three times as high as the others
// were by then.
TEST(OomTest, AStepThatIsLargerAtTheSameCallIsTold) {
  for (const std::uint64_t last : {30, 11}) {
    LogBuilder log;
    log.Device(0, 100 * kMiB);
    const int first = log.Stack({"main (a.cc:1)", "Run (a.cc:3)"});
    const int second = log.Stack({"main (a.cc:1)", "Run (a.cc:4)"});
    for (std::uint64_t step = 0; step < 6; ++step) {
      log.Step(step);
      log.Alloc(Layer::kLinear, kBase, (step < 5 ? 10 : last) * kMiB, {.stack = first});
      if (step == 5) break;
      log.Alloc(Layer::kLinear, kBase + 10 * kMiB, 25 * kMiB, {.stack = second});
      log.Free(Layer::kLinear, kBase + 10 * kMiB);
      log.Free(Layer::kLinear, kBase);
    }
    DriverRefuses(log, 15 * kMiB, 4 * kMiB, 100 * kMiB, second);
    const FailureReport report = Load(log).last;
    ASSERT_EQ(report.larger_step.has_value(), last == 30) << last;
    if (last != 30) continue;
    EXPECT_EQ(report.larger_step->highest_before, 0u) << "35 MiB were, of all";
    EXPECT_EQ(report.larger_step->more, 20 * kMiB);
    EXPECT_NE(FailureVerdict(report).find("30.0 MiB are live in it, where the step before had "
                                          "10.0 MiB at the same call; 20.0 MiB more"),
              std::string::npos)
        << FailureVerdict(report);
  }
}

TEST(OomTest, GrowthThatIsLessThanWhatLiesUnusedIsNotTheReason) {
  EXPECT_FALSE(GrowingRun(80 * kMiB).last.growth) << "holes are larger";
  EXPECT_FALSE(GrowingRun(2 * kMiB, false).last.growth) << "nothing leaks";
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
  const auto session = Session::LoadTogether(paths);
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
