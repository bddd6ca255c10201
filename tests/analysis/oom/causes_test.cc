// Why a request failed although memory was free.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/oom/oom.h"
#include "analysis/oom/words.h"
#include "tests/analysis/oom/case.h"

namespace memprof::analysis {
namespace {

using testing::AllocatorGivesUp;
using testing::Case;
using testing::DriverRefuses;
using testing::kBase;
using testing::Load;
using testing::LogBuilder;
using testing::Segment;
using testing::Sum;
using testing::TwoHoles;

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
  // The holes contain three whole pages of 2 MiB.
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

// A segment of 10 MiB with a hole of 8 MiB and an empty one of 6 MiB, both kept by a captured
// graph.
void GraphPool(LogBuilder& log, std::uint64_t pool, std::uint64_t capture) {
  Segment(log, kBase, 10 * kMiB, {.stream = 7, .aux1 = pool});
  Segment(log, kBase + 64 * kMiB, 6 * kMiB, {.stream = 7, .aux1 = pool});
  log.Alloc(Layer::kBlock, kBase, 8 * kMiB, {.stream = 7, .aux1 = pool});
  log.Free(Layer::kBlock, kBase);
  log.Alloc(Layer::kBlock, kBase + 8 * kMiB, 2 * kMiB, {.stream = 7, .aux1 = capture});
}

TEST(OomTest, MemoryOfGraphsServesOnlyTheGraphs) {
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
  EXPECT_THAT(FailureVerdict(c.last),
              ::testing::HasSubstr("14.0 MiB were unused in private pools"));
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
  // A later failure in the default stream does not belong to the pool, although the block before it
  // does.
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

TEST(OomTest, ARequestThatWouldHaveFittedIsNotSmaller) {
  for (const std::uint64_t free : {8 * kMiB - 4096, 8 * kMiB, 9 * kMiB}) {
    LogBuilder log;
    DriverRefuses(log, 8 * kMiB, free, 40 * kMiB);
    const Case c = Load(log);
    ASSERT_EQ(c.failures.size(), 1u);
    EXPECT_EQ(c.Find(RemedyKind::kSmallerRequest) != nullptr, free < 8 * kMiB) << free;
  }
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

}  // namespace
}  // namespace memprof::analysis
