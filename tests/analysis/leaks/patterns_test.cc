// The leak rule on patterns with known answers, at several lengths and seeds.
#include <gtest/gtest.h>

#include <cmath>

#include "analysis/leaks/leaks.h"
#include "analysis/symbols/symbols.h"
#include "tests/analysis/leaks/leak_patterns.h"

namespace memprof::analysis {
namespace {

using testing::LeakPattern;
using testing::LeakPatterns;
using testing::MakeLeakRun;

constexpr int kSeeds = 5;

class LeakPatternTest : public ::testing::TestWithParam<int> {};

std::string Name(const ::testing::TestParamInfo<int>& info) {
  std::string name = LeakPatterns()[info.param].name;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

TEST_P(LeakPatternTest, IsJudgedAsItIs) {
  const LeakPattern& pattern = LeakPatterns()[GetParam()];
  for (const int steps : {30, 50, 100}) {
    if (steps < pattern.min_steps) continue;
    for (int seed = 1; seed <= kSeeds; ++seed) {
      SCOPED_TRACE(::testing::Message()
                   << pattern.name << ", " << steps << " steps, seed " << seed);
      const auto session = MakeLeakRun(pattern.make(), static_cast<std::uint32_t>(seed), steps);
      ASSERT_NE(session, nullptr);
      const LeakReport report = FindLeaks(*session);
      EXPECT_EQ(report.steps, steps - 1);
      if (!pattern.leaks) {
        EXPECT_TRUE(report.leaks.empty()) << report.leaks[0].why;
        continue;
      }
      ASSERT_EQ(report.leaks.size(), 1u) << report.verdict;
      const Leak& leak = report.leaks[0];
      Symbols symbols(session);
      EXPECT_EQ(symbols.Site(leak.stack).function, "Pattern");
      EXPECT_EQ(leak.tier, LeakTier::kSuspected);
      EXPECT_GE(leak.score, 50);
      EXPECT_LE(leak.score, 100);
      EXPECT_FALSE(leak.why.empty());
      EXPECT_FALSE(leak.disproof.empty());
      if (pattern.bytes_per_step > 0) {
        EXPECT_NEAR(leak.bytes_per_step, pattern.bytes_per_step, pattern.bytes_per_step * 0.02);
      }
      std::uint64_t bytes = 0, blocks = 0;
      for (const BirthStep& step : leak.survivors) {
        bytes += step.bytes;
        blocks += step.blocks;
      }
      EXPECT_EQ(leak.bytes, bytes);
      EXPECT_EQ(leak.blocks, blocks);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, LeakPatternTest,
                         ::testing::Range(0, static_cast<int>(LeakPatterns().size())), Name);

TEST(LeakPatternsTest, ThereAreEnoughOfBoth) {
  int leaks = 0, others = 0;
  for (const LeakPattern& pattern : LeakPatterns()) ++(pattern.leaks ? leaks : others);
  EXPECT_GE(leaks, 6);
  EXPECT_GE(others, 10);
}

}  // namespace
}  // namespace memprof::analysis
