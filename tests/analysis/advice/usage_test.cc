#include <gtest/gtest.h>

#include "tests/analysis/advice/scenario.h"

namespace memprof::analysis {
namespace {

using testing::Scenario;

// ---- unused

TEST(AdviceUnusedTest, MemoryThatNoKernelNames) {
  Scenario s;
  const auto used = s.Alloc("Used", 4 * kMiB), unused = s.Alloc("Unused", 6 * kMiB);
  for (int i = 0; i < 5; ++i) s.Launch({used});
  s.Free(unused);
  const AdviceReport report = s.Advice();
  EXPECT_TRUE(s.Of(report, Pattern::kUnused, "Used").empty());
  const auto found = s.Of(report, Pattern::kUnused, "Unused");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].saves_bytes, 6 * kMiB);
  EXPECT_EQ(found[0].new_peak.bytes, 4 * kMiB);
  EXPECT_EQ(found[0].count, 1u);
  EXPECT_EQ(found[0].confidence, Confidence::kLikely);
  ASSERT_EQ(found[0].examples.size(), 1u);
  EXPECT_EQ(s.session().record(found[0].examples[0].allocation).address, unused);
}

TEST(AdviceUnusedTest, NothingRanWhileItLivedIsCertain) {
  Scenario s;
  s.Free(s.Alloc("Unused", 6 * kMiB));
  s.Launch();  // even a launch with unknown arguments
  const auto found = s.Of(s.Advice(), Pattern::kUnused);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].confidence, Confidence::kCertain);
}

TEST(AdviceUnusedTest, LaunchesOfWhichNothingIsKnownMakeItPossible) {
  Scenario s;
  const auto used = s.Alloc("Used", kMiB);
  s.Alloc("Unused", 6 * kMiB);
  s.Launch({used});
  s.Launch();
  const auto found = s.Of(s.Advice(), Pattern::kUnused);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].confidence, Confidence::kPossible);
  EXPECT_NE(found[0].assumption.find("not known"), std::string::npos);
}

TEST(AdviceUnusedTest, NearMisses) {
  Scenario s;
  const auto copied = s.Alloc("Copied", kMiB), set = s.Alloc("Set", kMiB);
  const auto inside = s.Alloc("Inside", kMiB);
  s.Upload(copied + 16, 0x5000, 64);
  s.Memset(set, 64);
  s.Launch({inside + kMiB - 1});
  // Segments are used through their blocks, arrays through handles.
  const auto segment = s.Alloc("Segment", 4 * kMiB);
  s.AllocAt(segment, "Segment", 4 * kMiB, Layer::kSegment);
  s.AllocAt(segment, "Block", kMiB, Layer::kBlock, kMiB);
  s.Launch({segment});
  s.Alloc("Array", kMiB, Layer::kArray);
  s.Launch({inside});
  EXPECT_TRUE(s.Of(s.Advice(), Pattern::kUnused).empty());
}

TEST(AdviceUnusedTest, WithoutLaunchesNothingIsClaimed) {
  Scenario s;
  s.Alloc("Unused", 6 * kMiB);
  const AdviceReport report = s.Advice();
  EXPECT_TRUE(s.Of(report, Pattern::kUnused).empty());
  EXPECT_FALSE(report.patterns[static_cast<std::size_t>(Pattern::kUnused)].looked_for);
  ASSERT_FALSE(report.notes.empty());
  EXPECT_NE(report.notes[0].find("--cupti"), std::string::npos);
}

TEST(AdviceUnusedTest, LaunchesWithoutAnyPointersProveNothing) {
  Scenario s;
  s.Alloc("Unused", 6 * kMiB);
  s.Launch();
  s.Launch();
  EXPECT_TRUE(s.Of(s.Advice(), Pattern::kUnused).empty());
}

// ---- idle

TEST(AdviceIdleTest, ALongGapBetweenUses) {
  Scenario s;
  const auto idle = s.Alloc("Idle", 8 * kMiB);
  s.Launch({idle});
  const auto other = s.Alloc("Other", 5 * kMiB);
  for (int i = 0; i < 12; ++i) s.Launch({other});
  s.Free(other);
  s.Launch({idle});
  const auto found = s.Of(s.Advice(), Pattern::kIdle);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(s.SiteOf(found[0].stack), "Idle");
  EXPECT_EQ(found[0].new_peak.bytes, 8 * kMiB);
  EXPECT_EQ(found[0].saves_bytes, 5 * kMiB);
  EXPECT_TRUE(IsTradeOff(found[0].pattern));
}

TEST(AdviceIdleTest, NearMisses) {
  Scenario s;
  const auto briefly = s.Alloc("Briefly", 8 * kMiB);
  s.Launch({briefly});
  const auto other = s.Alloc("Other", 5 * kMiB);
  for (int i = 0; i < 8; ++i) s.Launch({other});  // nine launches with that of the next use
  s.Launch({briefly});
  // No allocation in between, so nobody could use the memory.
  for (int i = 0; i < 20; ++i) s.Launch({other});
  s.Launch({briefly});
  EXPECT_TRUE(s.Of(s.Advice(), Pattern::kIdle).empty());
}

}  // namespace
}  // namespace memprof::analysis
