// Patterns of driver, allocator and host memory calls; ranking and noise.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/leaks/leaks.h"
#include "tests/analysis/advice/scenario.h"

namespace memprof::analysis {
namespace {

using testing::Scenario;

TEST(AdviceLeakTest, SavesWhatTheGuardWouldHaveFreed) {
  Scenario s;
  constexpr std::uint64_t kSteps = 40;
  s.Alloc("Weights", 8 * kMiB);
  for (std::uint64_t step = 0; step < kSteps; ++step) {
    s.Step(step);
    s.Alloc("Leaky", kMiB);
    s.Free(s.Alloc("Activation", 4 * kMiB));
  }
  const AdviceReport report = s.Advice();
  const auto found = s.Of(report, Pattern::kLeak);
  ASSERT_EQ(found.size(), 1u);
  const LeakReport leaks = FindLeaks(s.session());
  ASSERT_EQ(leaks.leaks.size(), 1u);
  EXPECT_EQ(found[0].why, leaks.leaks[0].why);
  // At the end 40 MiB are live. If each block were freed `guard` steps after the step of its birth,
  // only guard + 1 generations and the blocks older than the evidence would be.
  const auto first = static_cast<std::uint64_t>(leaks.leaks[0].first_step);
  const auto guard = static_cast<std::uint64_t>(leaks.leaks[0].guard_steps);
  EXPECT_EQ(found[0].saves_bytes, (kSteps - first - guard - 1) * kMiB);
  EXPECT_EQ(found[0].count, kSteps - first - guard - 1);
  EXPECT_GT(found[0].byte_seconds, 0);
}

TEST(AdviceLeakTest, WithoutStepsALeakByTimeHasNoSaving) {
  Scenario s;
  for (int i = 0; i < 300; ++i) {
    const std::uint64_t work = s.Alloc("Work", kMiB);
    s.Alloc("Leaky", 4096);
    s.Free(work);
  }
  const AdviceReport report = s.Advice();
  ASSERT_EQ(FindLeaks(s.session()).leaks.size(), 1u);
  EXPECT_TRUE(s.Of(report, Pattern::kLeak).empty());
  EXPECT_FALSE(report.patterns[static_cast<std::size_t>(Pattern::kLeak)].looked_for);
  EXPECT_THAT(report.notes, ::testing::Contains(::testing::HasSubstr("1 leak")));
}

TEST(AdviceLeakTest, WhatIsFreedIsNone) {
  Scenario s;
  std::vector<std::uint64_t> window;
  for (std::uint64_t step = 0; step < 40; ++step) {
    s.Step(step);
    window.push_back(s.Alloc("Window", kMiB));
    if (window.size() < 4) continue;
    s.Free(window.front());
    window.erase(window.begin());
  }
  EXPECT_TRUE(s.Of(s.Advice(), Pattern::kLeak).empty());
}

TEST(AdviceRoundingTest, BlocksLargerThanRequested) {
  Scenario s;
  const auto segment = s.Alloc("Segment", 16 * kMiB);
  s.AllocAt(segment, "Segment", 16 * kMiB, Layer::kSegment);
  s.AllocAt(segment, "Wasteful", 4 * kMiB, Layer::kBlock, 3 * kMiB);
  s.AllocAt(segment + 4 * kMiB, "Exact", kMiB, Layer::kBlock, kMiB);
  s.AllocAt(segment + 5 * kMiB, "NotSaid", kMiB, Layer::kBlock, 0);
  const auto found = s.Of(s.Advice(), Pattern::kRounding);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(s.SiteOf(found[0].stack), "Wasteful");
  EXPECT_EQ(found[0].bytes, kMiB);
  EXPECT_EQ(found[0].saves_bytes, kMiB);
  EXPECT_EQ(found[0].peak_of, PeakLayer::kBlocks);
  EXPECT_EQ(found[0].confidence, Confidence::kCertain);
}

TEST(AdviceRoundingTest, Pitch) {
  Scenario s;
  s.Alloc("Wide", 512 * 1000, Layer::kPitched, 512, 300);
  s.Alloc("Full", 512 * 1000, Layer::kPitched, 512, 512);
  s.Alloc("Damaged", 512 * 1000, Layer::kPitched, 7, 3);
  const auto found = s.Of(s.Advice(), Pattern::kRounding);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].bytes, 212u * 1000);
  EXPECT_EQ(found[0].saves_bytes, 212u * 1000);
}

TEST(AdviceReserveTest, SegmentsThatWereNeverFull) {
  Scenario s;
  const auto segment = s.Alloc("Segment", 20 * kMiB);
  s.AllocAt(segment, "Segment", 20 * kMiB, Layer::kSegment);
  s.AllocAt(segment, "Block", 17 * kMiB, Layer::kBlock, 17 * kMiB);
  const auto found = s.Of(s.Advice(), Pattern::kOverReservation);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].saves_bytes, 3 * kMiB);
  EXPECT_TRUE(found[0].upper_bound);
  EXPECT_EQ(found[0].new_peak.bytes, 17 * kMiB);
  EXPECT_TRUE(IsTradeOff(found[0].pattern));
}

// 600 MiB that a pool of the driver keeps after all was freed, of 700 in use.
TEST(AdviceReserveTest, APoolOfTheDriverKeepsMemory) {
  Scenario s;
  const auto block = s.Alloc("Request", 600 * kMiB, Layer::kStreamOrdered);
  s.Free(block, Layer::kStreamOrdered);
  s.log().AdvanceTime(1'000'000'000);
  s.log().Event(Op::kPoolSample, Layer::kStreamOrdered, 0, 600 * kMiB, 0, {});
  s.log().Event(Op::kMemoryInfo, Layer::kUnspecified, 0, 324 * kMiB, 0, {.aux0 = 1024 * kMiB});
  const auto found = s.Of(s.Advice(), Pattern::kOverReservation);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].bytes, 600 * kMiB);
  EXPECT_EQ(found[0].layer, Layer::kStreamOrdered);
  EXPECT_THAT(found[0].fix, ::testing::HasSubstr("cudaMemPoolTrimTo"));
}

// Each of four streams has had a segment of its own for one block.
TEST(AdviceReserveTest, StreamsThatAreNotUsedAgainKeepTheirSegments) {
  Scenario s;
  for (std::uint64_t stream = 1; stream <= 4; ++stream) {
    const auto segment = s.Alloc("Segment", 20 * kMiB);
    s.log().Alloc(Layer::kSegment, segment, 20 * kMiB, {.stream = stream});
    s.log().Alloc(Layer::kBlock, segment, 20 * kMiB, {.stream = stream});
    if (stream < 4) s.Free(segment, Layer::kBlock);
  }
  const auto found = s.Of(s.Advice(), Pattern::kOverReservation);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].why,
              ::testing::HasSubstr("60.0 MiB of it belonged to 3 streams without any block"));
  EXPECT_THAT(found[0].fix, ::testing::HasSubstr("Make the streams once"));
}

TEST(AdviceReserveTest, NearMisses) {
  Scenario s;
  const auto segment = s.Alloc("Segment", 20 * kMiB);
  s.AllocAt(segment, "Segment", 20 * kMiB, Layer::kSegment);
  s.AllocAt(segment, "Block", 19 * kMiB, Layer::kBlock, 19 * kMiB);  // only 5 % free
  EXPECT_TRUE(s.Of(s.Advice(), Pattern::kOverReservation).empty());
}

// 40 MiB of segments, a block on stream 1 that stream 2 uses, and what waits.
void Waits(Scenario& s, std::uint64_t bytes) {
  const auto segment = s.Alloc("Segment", 40 * kMiB);
  s.AllocAt(segment, "Segment", 40 * kMiB, Layer::kSegment);
  s.AllocAt(segment, "Block", 3 * kMiB, Layer::kBlock);
  s.log().Event(Op::kStreamUse, Layer::kBlock, segment, 0, 0,
                {.stack = s.Stack("Prefetch"), .stream = 2});
  s.Free(segment, Layer::kBlock);
  s.log().Event(Op::kWaiting, Layer::kBlock, 0, bytes, 0, {.aux0 = 1});
}

TEST(AdviceWaitingTest, SavesAtMostWhatWaited) {
  Scenario s;
  Waits(s, 3 * kMiB);
  const auto found = s.Of(s.Advice(), Pattern::kWaiting, "Prefetch");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].saves_bytes, 3 * kMiB);
  EXPECT_TRUE(found[0].upper_bound);
  EXPECT_TRUE(IsTradeOff(found[0].pattern));
  EXPECT_THAT(found[0].why, ::testing::HasSubstr("3.00 MiB of the 40.0 MiB"));
}

TEST(AdviceWaitingTest, NotATwentiethOfTheReserve) {
  Scenario s;
  Waits(s, 2 * kMiB);
  EXPECT_TRUE(s.Of(s.Advice(), Pattern::kWaiting).empty());
}

TEST(AdviceChurnTest, EachStepAllocatesAndFrees) {
  Scenario s;
  for (std::uint64_t step = 0; step < 6; ++step) {
    s.Step(step);
    s.Free(s.Alloc("Hot", kMiB));
    s.Free(s.Alloc("Hot", kMiB));
  }
  const auto found = s.Of(s.Advice(), Pattern::kChurn);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].count, 10u);
  EXPECT_NE(found[0].fix.find("cudaFree"), std::string::npos);
  EXPECT_EQ(found[0].confidence, Confidence::kCertain);
}

TEST(AdviceChurnTest, PinnedInTheLoop) {
  Scenario s;
  for (std::uint64_t step = 0; step < 6; ++step) {
    s.Step(step);
    s.Free(s.Alloc("Staging", kMiB, Layer::kPinned), Layer::kPinned);
  }
  const auto found = s.Of(s.Advice(), Pattern::kChurn);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].device, kNoDevice);
  EXPECT_NE(found[0].fix.find("Pin once"), std::string::npos);
}

TEST(AdviceChurnTest, NearMisses) {
  Scenario s;
  const auto segment = s.Alloc("Segment", 16 * kMiB);
  s.AllocAt(segment, "Segment", 16 * kMiB, Layer::kSegment);
  for (int i = 0; i < 20; ++i) s.Free(s.Alloc("SetUp", kMiB));
  std::uint64_t kept = 0;
  std::vector<std::uint64_t> queue;
  for (std::uint64_t step = 0; step < 10; ++step) {
    s.Step(step);
    s.AllocAt(segment, "Block", kMiB, Layer::kBlock, kMiB);  // blocks are cheap
    s.Free(segment, Layer::kBlock);
    s.Free(s.Alloc("Pool", kMiB, Layer::kStreamOrdered), Layer::kStreamOrdered);
    if (step % 3 == 0) {  // lives for three steps: not frequent enough
      if (kept != 0) s.Free(kept);
      kept = s.Alloc("Slow", kMiB);
    }
    if (step == 4) s.Free(s.Alloc("Once", kMiB));
    if (step % 3 == 1) s.Free(s.Alloc("Seldom", kMiB));  // in fewer than half of the steps
    queue.push_back(s.Alloc("Queue", kMiB));             // freed in the step after the next
    if (step >= 2) s.Free(queue[step - 2]);
  }
  EXPECT_TRUE(s.Of(s.Advice(), Pattern::kChurn).empty());
}

// A segment of 2 MiB that is allocated and freed in each step.
void EmptyTheCache(Scenario& s, int steps, bool of_one_size) {
  for (int step = 0; step < steps; ++step) {
    s.Step(static_cast<std::uint64_t>(step));
    const std::uint64_t bytes = of_one_size ? 2 * kMiB : (2 + static_cast<unsigned>(step)) * kMiB;
    const auto segment = s.Alloc("Segment", bytes);
    s.AllocAt(segment, "Segment", bytes, Layer::kSegment);
    s.Free(segment, Layer::kSegment);
    s.Free(segment);
  }
}

TEST(AdviceCacheChurnTest, SegmentsThatComeBack) {
  Scenario s;
  EmptyTheCache(s, 6, true);
  const AdviceReport report = s.Advice();
  const auto found = s.Of(report, Pattern::kCacheChurn);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].count, 5u);
  EXPECT_EQ(found[0].bytes, 10 * kMiB);
  EXPECT_TRUE(found[0].examples[0].other.valid());
  // Driver memory below a segment is not reported again.
  EXPECT_TRUE(s.Of(report, Pattern::kChurn).empty());
}

TEST(AdviceCacheChurnTest, NearMisses) {
  Scenario other_sizes, seldom;
  EmptyTheCache(other_sizes, 6, false);
  EXPECT_TRUE(other_sizes.Of(other_sizes.Advice(), Pattern::kCacheChurn).empty());
  EmptyTheCache(seldom, 3, true);
  EXPECT_TRUE(seldom.Of(seldom.Advice(), Pattern::kCacheChurn).empty());
}

TEST(AdviceRetryTest, FailedAndThenSucceeded) {
  Scenario s;
  s.log().AllocFailed(Layer::kLinear, 8 * kMiB, {.stack = s.Stack("Big"), .aux0 = 5 * kMiB});
  s.Alloc("Big", 8 * kMiB);
  const auto found = s.Of(s.Advice(0.001), Pattern::kRetriedFailure);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].count, 1u);
  EXPECT_NE(found[0].why.find("3.00 MiB were lacking"), std::string::npos) << found[0].why;
}

TEST(AdviceRetryTest, NearMisses) {
  Scenario s;
  s.log().AllocFailed(Layer::kLinear, 8 * kMiB, {.stack = s.Stack("GaveUp")});
  s.Alloc("Smaller", 4 * kMiB);
  s.log().AllocFailed(Layer::kLinear, 9 * kMiB, {.stack = s.Stack("OtherThread")});
  s.log().Alloc(Layer::kLinear, 0x123400000, 9 * kMiB, {.thread = 2});
  s.log().AllocFailed(Layer::kPinned, kMiB, {.device = kNoDevice, .stack = s.Stack("Host")});
  s.Alloc("Host", kMiB, Layer::kPinned);
  EXPECT_TRUE(s.Of(s.Advice(), Pattern::kRetriedFailure).empty());
}

TEST(AdvicePinnedTest, NeverCopied) {
  Scenario s;
  const auto used = s.Alloc("Used", kMiB, Layer::kPinned);
  s.Alloc("Unused", 4 * kMiB, Layer::kPinned);
  const auto device = s.Alloc("Device", kMiB);
  s.Upload(device, used, kMiB);
  s.Alloc("TooLate", kMiB, Layer::kPinned);  // no copy while it was live
  const auto found = s.Of(s.Advice(), Pattern::kPinnedUnused);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(s.SiteOf(found[0].stack), "Unused");
  EXPECT_EQ(found[0].bytes, 4 * kMiB);
  EXPECT_GT(found[0].byte_seconds, 0);
  EXPECT_FALSE(found[0].peak_of.has_value());
}

TEST(AdvicePinnedTest, UsedByAKernelIsUsed) {
  Scenario s;
  const auto mapped = s.Alloc("Mapped", kMiB, Layer::kPinned), device = s.Alloc("Device", kMiB);
  s.Launch({mapped});
  s.Memset(device, 10);
  s.Upload(device, 0x5000, 10);
  EXPECT_TRUE(s.Of(s.Advice(), Pattern::kPinnedUnused).empty());
}

TEST(AdvicePinnedTest, MoreThanTheDevicesHave) {
  Scenario huge, large;  // the device has 1 GiB
  huge.Alloc("Huge", 1025 * kMiB, Layer::kPinned);
  EXPECT_EQ(huge.Of(huge.Advice(0.001), Pattern::kPinnedHuge).size(), 1u);
  large.Free(large.Alloc("Large", 700 * kMiB, Layer::kPinned), Layer::kPinned);
  large.Alloc("Large", 700 * kMiB, Layer::kPinned);
  EXPECT_TRUE(large.Of(large.Advice(), Pattern::kPinnedHuge).empty());
}

TEST(AdviceManagedTest, FirstKernelWithoutPrefetch) {
  Scenario s;
  const auto faults = s.Alloc("Faults", 4 * kMiB, Layer::kManaged);
  const auto fetched = s.Alloc("Fetched", kMiB, Layer::kManaged);
  const auto host = s.Alloc("HostOnly", kMiB, Layer::kManaged);
  s.log().Event(Op::kPrefetch, Layer::kManaged, fetched, kMiB, 0, {});
  s.Launch({faults});
  s.Launch({fetched});
  s.Upload(host, 0x5000, 10);
  s.log().Event(Op::kPrefetch, Layer::kManaged, faults, kMiB, 0, {});  // too late
  const auto found = s.Of(s.Advice(), Pattern::kManagedFaults);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(s.SiteOf(found[0].stack), "Faults");
  EXPECT_EQ(found[0].moved_bytes, 4 * kMiB);
}

}  // namespace
}  // namespace memprof::analysis
