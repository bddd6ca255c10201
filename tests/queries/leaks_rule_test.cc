// The arithmetic of the leak rule against definitions written out.
#include "analysis/leaks_rule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace memprof::analysis {
namespace {

TEST(LeaksRuleTest, BinomialMatchesCountingCoinFlips) {
  for (int n = 1; n <= 14; ++n) {
    std::vector<int> heads(n + 1, 0);
    for (int flips = 0; flips < 1 << n; ++flips) ++heads[__builtin_popcount(flips)];
    int at_most = 0;
    for (int k = 0; k <= n; ++k) {
      at_most += heads[k];
      EXPECT_NEAR(BinomialHalfCdf(n, k), at_most / std::pow(2.0, n), 1e-12);
    }
  }
  EXPECT_EQ(BinomialHalfCdf(5, -1), 0);
  EXPECT_NEAR(BinomialHalfCdf(10'000, 5'000), 0.504, 0.001);
}

TEST(LeaksRuleTest, SuffixMinimumMatchesPlainLoop) {
  std::mt19937_64 random(3);
  std::vector<std::uint64_t> values(200);
  for (auto& value : values) value = random() % 50;
  const std::vector<std::uint64_t> envelope = SuffixMinimum(values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(envelope[i],
              *std::min_element(values.begin() + static_cast<std::ptrdiff_t>(i), values.end()));
  }
  EXPECT_TRUE(SuffixMinimum({}).empty());
}

TEST(LeaksRuleTest, TheSlopeIsWhatCameAfterTheFirstGeneration) {
  SiteHistory history;
  history.birth_steps = {2, 10, 15, 30, 40};
  history.birth_bytes = {99, 7, 20, 40, 1000};
  EXPECT_DOUBLE_EQ(ProfileSlope(history, 5, 35), 60.0 / 20);
  EXPECT_DOUBLE_EQ(ProfileSlope(history, 0, 50), 1067.0 / 38);
  EXPECT_EQ(ProfileSlope(history, 11, 16), 0);
  EXPECT_EQ(ProfileSlope({}, 0, 50), 0);
}

// A site that keeps one byte of every step for which `born` says so.
template <typename Born>
SiteHistory Keeping(std::int64_t steps, std::int64_t longest, Born born) {
  SiteHistory history;
  history.steps = steps;
  history.longest_lifetime = longest;
  std::uint64_t live = 0;
  for (std::int64_t step = 0; step < steps; ++step) {
    if (born(step)) {
      history.birth_steps.push_back(step);
      history.birth_bytes.push_back(1);
      ++live;
    }
    history.live_at_step_end.push_back(live);
  }
  return history;
}

TEST(LeaksRuleTest, SteadySurvivorsAreALeak) {
  const auto judgement = JudgeSite(Keeping(50, 0, [](std::int64_t) { return true; }));
  EXPECT_EQ(judgement.verdict, SiteVerdict::kLeak);
  EXPECT_EQ(judgement.guard, 2);
  EXPECT_EQ(judgement.window_begin, 5);
  EXPECT_EQ(judgement.window_end, 48);
  EXPECT_EQ(judgement.old_births, 43);
  EXPECT_EQ(judgement.first_step, 5);
  EXPECT_DOUBLE_EQ(judgement.slope, 1);
  EXPECT_GT(judgement.score, 99);
}

TEST(LeaksRuleTest, BirthsThatStopAreNone) {
  const auto judgement = JudgeSite(Keeping(50, 0, [](std::int64_t step) { return step < 20; }));
  EXPECT_EQ(judgement.verdict, SiteVerdict::kNoLeak);
}

TEST(LeaksRuleTest, BirthsThatThinOutAreNone) {
  const auto judgement = JudgeSite(
      Keeping(100, 0, [](std::int64_t step) { return step < 30 || step == 55 || step == 90; }));
  EXPECT_EQ(judgement.verdict, SiteVerdict::kNoLeak);
  EXPECT_LT(judgement.steadiness, 0.01);
}

TEST(LeaksRuleTest, FewLateButLargeBirthsAreNoSteadyGrowth) {
  SiteHistory history = Keeping(100, 0, [](std::int64_t step) {
    return (step >= 10 && step < 40) || step == 60 || step == 90;
  });
  for (std::size_t step = 60; step < 100; ++step) {
    history.live_at_step_end[step] += step < 90 ? 1000 : 2000;  // growth alone would convict
  }
  EXPECT_EQ(JudgeSite(history).verdict, SiteVerdict::kNoLeak);
}

TEST(LeaksRuleTest, YoungSurvivorsAreNoEvidence) {
  const auto judgement = JudgeSite(Keeping(50, 4, [](std::int64_t step) { return step >= 42; }));
  EXPECT_EQ(judgement.guard, 9);
  EXPECT_NE(judgement.verdict, SiteVerdict::kLeak);
}

TEST(LeaksRuleTest, TwoSurvivorsAreTooFew) {
  const auto judgement =
      JudgeSite(Keeping(50, 0, [](std::int64_t step) { return step == 15 || step == 40; }));
  EXPECT_EQ(judgement.verdict, SiteVerdict::kNoLeak);
}

TEST(LeaksRuleTest, TooShortSaysHowLong) {
  const auto judgement = JudgeSite(Keeping(50, 22, [](std::int64_t) { return true; }));
  EXPECT_EQ(judgement.verdict, SiteVerdict::kTooShort);
  EXPECT_EQ(judgement.steps_needed, StepsNeeded(45));
}

TEST(LeaksRuleTest, StepsNeededIsTheSmallestThatWillDo) {
  const auto enough = [](std::int64_t steps, std::int64_t guard) {
    return steps - guard - WarmupSteps(steps) >= MinWindow(steps);
  };
  for (std::int64_t guard = 2; guard < 300; ++guard) {
    std::int64_t steps = 0;
    while (!enough(steps, guard)) ++steps;
    EXPECT_EQ(StepsNeeded(guard), steps) << guard;
  }
}

TEST(LeaksRuleTest, EmptyHistoryIsNoLeak) {
  EXPECT_EQ(JudgeSite({}).verdict, SiteVerdict::kNoLeak);
}

}  // namespace
}  // namespace memprof::analysis
