// Patterns of lifetimes and uses: cases that match each pattern, and near misses that must not.
#include <gtest/gtest.h>

#include "tests/analysis/advice/scenario.h"

namespace memprof::analysis {
namespace {

using testing::Scenario;

// ---- early allocation

TEST(AdviceEarlyTest, WaitsWhileOtherMemoryIsFreed) {
  Scenario s;
  const auto other = s.Alloc("Other", 8 * kMiB), early = s.Alloc("Early", 4 * kMiB);
  s.Launch({other});
  s.Free(other);
  s.Launch({early});
  const auto found = s.Of(s.Advice(), Pattern::kEarlyAllocation);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(s.SiteOf(found[0].stack), "Early");
  EXPECT_EQ(found[0].saves_bytes, 4 * kMiB);  // 12 MiB, then 8
  EXPECT_EQ(found[0].new_peak.bytes, 8 * kMiB);
  EXPECT_GT(found[0].byte_seconds, 0);
}

TEST(AdviceEarlyTest, NearMisses) {
  Scenario s;
  const auto other = s.Alloc("Other", 8 * kMiB), ready = s.Alloc("Ready", 4 * kMiB);
  s.Launch({ready});
  s.Launch({other});
  s.Free(other);  // after the first use: delaying would not help
  s.Launch({ready});
  const auto kept = s.Alloc("Kept", 8 * kMiB), waits = s.Alloc("Waits", kMiB);
  s.Launch({kept});  // nothing is freed in between
  s.Launch({waits});
  const auto short_lived = s.Alloc("Short", kMiB), at_once = s.Alloc("AtOnce", kMiB);
  s.Free(short_lived);  // no kernel ran in between
  s.Launch({at_once});
  s.Launch({kept});
  EXPECT_TRUE(s.Of(s.Advice(), Pattern::kEarlyAllocation).empty());
}

TEST(AdviceEarlyTest, AllAllocationsOfASiteAreDelayedTogether) {
  Scenario s;
  const auto other = s.Alloc("Other", 10 * kMiB);
  const auto first = s.Alloc("Early", 3 * kMiB), second = s.Alloc("Early", 2 * kMiB);
  s.Launch({other});
  s.Free(other);
  s.Launch({first});
  s.Free(first);
  s.Launch({second});
  const auto found = s.Of(s.Advice(), Pattern::kEarlyAllocation, "Early");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].count, 2u);
  EXPECT_EQ(found[0].saves_bytes, 5 * kMiB);
}

// ---- late release

TEST(AdviceLateTest, StaysWhileOtherMemoryComes) {
  Scenario s;
  const auto late = s.Alloc("Late", 6 * kMiB);
  s.Launch({late});
  const auto other = s.Alloc("Other", 5 * kMiB);
  s.Launch({other});
  s.Free(late);
  s.Launch({other});
  const auto found = s.Of(s.Advice(), Pattern::kLateRelease, "Late");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].saves_bytes, 5 * kMiB);  // 11 MiB, then 6
  EXPECT_EQ(found[0].new_peak.bytes, 6 * kMiB);
  EXPECT_TRUE(s.Of(s.Advice(), Pattern::kLateRelease, "Other").empty());
}

TEST(AdviceLateTest, NearMisses) {
  Scenario s;
  const auto prompt = s.Alloc("Prompt", 6 * kMiB);
  s.Launch({prompt});
  s.Free(prompt);
  const auto read = s.Alloc("Read", kMiB), other = s.Alloc("Other", kMiB);
  s.Launch({read});
  s.Launch({other});
  s.Download(0x5000, read, 64);  // a copy is a use
  s.Free(read);
  const auto alone = s.Alloc("Alone", kMiB);
  s.Launch({alone});
  s.Launch({other});  // nothing is allocated before its end
  s.Free(alone);
  s.Launch({other});
  EXPECT_TRUE(s.Of(s.Advice(), Pattern::kLateRelease).empty());
}

TEST(AdviceLateTest, StateThatTheLastStepUsedIsNotLate) {
  Scenario s;
  const auto state = s.Alloc("State", 4 * kMiB), once = s.Alloc("Once", kMiB);
  s.Launch({once});
  for (std::uint64_t step = 0; step < 5; ++step) {
    s.Step(step);
    s.Launch({state});
    const auto activation = s.Alloc("Activation", kMiB);
    s.Launch({activation});
    s.Launch({activation});
    s.Free(activation);
  }
  const AdviceReport report = s.Advice();
  EXPECT_TRUE(s.Of(report, Pattern::kLateRelease, "State").empty());
  EXPECT_EQ(s.Of(report, Pattern::kLateRelease, "Once").size(), 1u);
}

// ---- reusable

TEST(AdviceReusableTest, SameSizeWasDoneBefore) {
  Scenario s;
  const auto first = s.Alloc("First", 4 * kMiB), second = s.Alloc("Second", 4 * kMiB);
  s.Launch({first});
  s.Launch({second});
  s.Free(first);
  s.Free(second);
  const auto found = s.Of(s.Advice(), Pattern::kReusable);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(s.SiteOf(found[0].stack), "Second");
  EXPECT_EQ(found[0].saves_bytes, 4 * kMiB);
  EXPECT_EQ(s.session().record(found[0].examples[0].other).address, first);
}

TEST(AdviceReusableTest, WhatTakesOverLivesAsLong) {
  Scenario s;
  const auto first = s.Alloc("First", 4 * kMiB), second = s.Alloc("Second", 4 * kMiB);
  s.Launch({first});
  s.Launch({second});
  s.Free(first);
  const auto big = s.Alloc("Big", 3 * kMiB);  // 7 MiB beside the second
  s.Launch({big, second});
  const auto found = s.Of(s.Advice(), Pattern::kReusable);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].new_peak.bytes, 7 * kMiB);
  EXPECT_EQ(found[0].saves_bytes, kMiB);
}

TEST(AdviceReusableTest, OneStorageServesOneAtATime) {
  Scenario s;
  const auto first = s.Alloc("First", 4 * kMiB);
  const auto a = s.Alloc("Later", 4 * kMiB), b = s.Alloc("Later", 4 * kMiB);
  s.Launch({first});
  s.Launch({a, b});  // both at once: only one can have the first's place
  s.Free(first);
  const auto found = s.Of(s.Advice(), Pattern::kReusable);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].count, 1u);
  EXPECT_EQ(found[0].saves_bytes, 4 * kMiB);
}

TEST(AdviceReusableTest, NearMisses) {
  Scenario s;
  const auto first = s.Alloc("First", 4 * kMiB), together = s.Alloc("Together", 4 * kMiB);
  const auto larger = s.Alloc("Larger", 4 * kMiB + 1);
  s.Launch({first, together});  // in use at the same time
  s.Launch({larger});           // another size
  s.Launch({first, together});
  s.Free(first);
  // freed before this: the allocator could reuse the first block
  const auto after = s.Alloc("After", 4 * kMiB);
  s.Launch({after, together});
  EXPECT_TRUE(s.Of(s.Advice(), Pattern::kReusable).empty());
}

}  // namespace
}  // namespace memprof::analysis
