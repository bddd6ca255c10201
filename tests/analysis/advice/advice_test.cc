// The advice as a whole: which findings are hidden, and their order.
#include <gtest/gtest.h>

#include <set>

#include "tests/analysis/advice/scenario.h"

namespace memprof::analysis {
namespace {

using testing::Scenario;

// ---- the whole

TEST(AdviceTest, NoiseIsHiddenAndCounted) {
  Scenario s;
  const auto used = s.Alloc("Used", 100 * kMiB);
  s.Alloc("Tiny", 50 << 10);  // below 0.1 % of 100 MiB
  s.Alloc("Small", 200 << 10);
  s.Launch({used});
  const AdviceReport hidden = s.Advice(0.001);
  EXPECT_TRUE(s.Of(hidden, Pattern::kUnused, "Tiny").empty());
  EXPECT_EQ(s.Of(hidden, Pattern::kUnused, "Small").size(), 1u);
  EXPECT_EQ(hidden.hidden, 1u);
  EXPECT_EQ(hidden.patterns[static_cast<std::size_t>(Pattern::kUnused)].hidden, 1u);
  EXPECT_EQ(hidden.patterns[static_cast<std::size_t>(Pattern::kUnused)].findings, 1u);
  EXPECT_EQ(hidden.noise_bytes, (100 * kMiB + (250 << 10)) / 1000);
  EXPECT_EQ(s.Of(s.Advice(0), Pattern::kUnused, "Tiny").size(), 1u);
}

TEST(AdviceTest, BestFirstTradeOffsLast) {
  Scenario s;
  const auto segment = s.Alloc("Segment", 900 * kMiB);
  s.AllocAt(segment, "Segment", 900 * kMiB, Layer::kSegment);
  s.AllocAt(segment, "Used", 10 * kMiB, Layer::kBlock, 10 * kMiB);
  s.AllocAt(segment + 10 * kMiB, "Less", 2 * kMiB, Layer::kBlock, 2 * kMiB);
  s.AllocAt(segment + 20 * kMiB, "More", 5 * kMiB, Layer::kBlock, 5 * kMiB);
  s.Launch({segment});
  const AdviceReport report = s.Advice();
  ASSERT_EQ(report.findings.size(), 3u);
  EXPECT_EQ(s.SiteOf(report.findings[0].stack), "More");
  EXPECT_EQ(s.SiteOf(report.findings[1].stack), "Less");
  EXPECT_EQ(report.findings[2].pattern, Pattern::kOverReservation);
  EXPECT_GT(report.findings[2].saves_bytes, report.findings[0].saves_bytes);
}

TEST(AdviceTest, WhatCostsNothingComesBeforeALargerTradeOff) {
  Scenario s;
  const auto segment = s.Alloc("Segment", 20 * kMiB);
  s.AllocAt(segment, "Segment", 20 * kMiB, Layer::kSegment);
  s.AllocAt(segment, "Idle", 10 * kMiB, Layer::kBlock, 10 * kMiB);
  s.Launch({segment});
  s.AllocAt(segment + 10 * kMiB, "Rounded", 9 * kMiB, Layer::kBlock, 8 * kMiB);
  for (int i = 0; i < 12; ++i) s.Launch({segment + 10 * kMiB});
  s.Free(segment + 10 * kMiB, Layer::kBlock);
  s.Launch({segment});
  const AdviceReport report = s.Advice();
  ASSERT_EQ(report.findings.size(), 2u);
  EXPECT_EQ(report.findings[0].pattern, Pattern::kRounding);
  EXPECT_EQ(report.findings[1].pattern, Pattern::kIdle);
  EXPECT_GT(report.findings[1].saves_bytes, report.findings[0].saves_bytes);
}

TEST(AdviceTest, SitesAreFoldedAsTheCallerSays) {
  Scenario s;
  const auto used = s.Alloc("Used", kMiB);
  s.Alloc("One", 2 * kMiB);
  s.Alloc("Other", 3 * kMiB);
  s.Launch({used});
  s.Advice();
  const AdviceReport folded = FindAdvice(s.session(), {.site_of = [](StackId) { return 7u; }});
  const auto found = s.Of(folded, Pattern::kUnused);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].count, 2u);
  EXPECT_EQ(found[0].saves_bytes, 5 * kMiB);
  ASSERT_EQ(found[0].examples.size(), 2u);
  EXPECT_EQ(s.session().record(found[0].examples[0].allocation).bytes, 3 * kMiB);
}

TEST(AdviceTest, EmptyAndPoorLogsSayWhatIsMissing) {
  Scenario s;
  const AdviceReport report = s.Advice();
  EXPECT_TRUE(report.findings.empty());
  EXPECT_EQ(report.patterns.size(), static_cast<std::size_t>(kPatternCount));
  for (int i = 0; i < kPatternCount; ++i) {
    const PatternSummary& summary = report.patterns[static_cast<std::size_t>(i)];
    // Remedies of the peak need names, which this report was not given.
    EXPECT_EQ(summary.looked_for,
              summary.missing.empty() && !IsRemedyOfPeak(static_cast<Pattern>(i)))
        << i;
  }
  EXPECT_EQ(report.notes.size(), 2u);
}

TEST(AdviceTest, EveryPatternHasItsNames) {
  std::set<std::string_view> ids, names;
  for (int i = 0; i < kPatternCount; ++i) {
    ids.insert(PatternId(static_cast<Pattern>(i)));
    names.insert(PatternName(static_cast<Pattern>(i)));
  }
  EXPECT_EQ(ids.size(), static_cast<std::size_t>(kPatternCount));
  EXPECT_EQ(names.size(), static_cast<std::size_t>(kPatternCount));
  EXPECT_FALSE(ids.contains(""));
}

}  // namespace
}  // namespace memprof::analysis
