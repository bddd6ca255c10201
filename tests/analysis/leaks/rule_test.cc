// The arithmetic of the leak rule against literal implementations of the definitions.
#include "analysis/leaks/rule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

namespace memprof::analysis {
namespace {

// Against the share of random draws with births as early as these.
TEST(LeaksRuleTest, SteadyChanceMatchesDraws) {
  std::mt19937_64 random(5);
  for (const int n : {4, 8, 23}) {
    std::vector<std::int64_t> births;
    for (int i = 0; i < n; ++i) births.push_back(static_cast<std::int64_t>(random() % 800));
    const auto sum = [](const std::vector<std::int64_t>& of) {
      return std::accumulate(of.begin(), of.end(), std::int64_t{0});
    };
    constexpr int kDraws = 20'000;
    int as_early = 0;
    for (int draw = 0; draw < kDraws; ++draw) {
      std::vector<std::int64_t> drawn(births.size());
      for (std::int64_t& birth : drawn) birth = static_cast<std::int64_t>(random() % 1000);
      as_early += sum(drawn) <= sum(births);
    }
    EXPECT_NEAR(SteadyChance(births, {}, 0, 1000), as_early / static_cast<double>(kDraws), 0.02)
        << n;
  }
  EXPECT_EQ(SteadyChance({}, {}, 0, 10), 1);
  const std::vector<std::int64_t> births = {1, 2, 3, 4, 9};
  const std::vector<double> bytes = {1, 1, 1, 1, 96};
  EXPECT_LT(SteadyChance(births, {}, 0, 10), 0.4);
  EXPECT_GT(SteadyChance(births, bytes, 0, 10), 0.9) << "most of the bytes came late";
  EXPECT_DOUBLE_EQ(SteadyChance(births, std::vector<double>(5, 7), 0, 10),
                   SteadyChance(births, {}, 0, 10));
}

// A buffer that is replaced by a larger one, of an allocator that rounds more coarsely from 10 on.
TEST(LeaksRuleTest, RisesThatAreRoundedAreAsSteady) {
  std::vector<std::uint64_t> lows;
  for (std::uint64_t step = 0; step < 3000; ++step)
    lows.push_back(step < 1000 ? step : (step + 31) / 32 * 32);
  EXPECT_EQ(JudgeSite(StackedGrowth(lows)).verdict, SiteVerdict::kLeak);
  for (std::uint64_t step = 1000; step < 3000; ++step) lows[step] = 1000 + step / 100;
  EXPECT_EQ(JudgeSite(StackedGrowth(lows)).verdict, SiteVerdict::kNoLeak) << "it dies out";
}

// The reference keeps each byte separately: a decrease removes the latest ones.
TEST(LeaksRuleTest, StackedGrowthMatchesAListOfBytes) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::uint64_t> lows(1 + random() % 40);
    for (auto& low : lows) low = random() % 9;
    std::vector<std::int64_t> bytes;
    std::int64_t longest = 0;
    for (std::size_t step = 0; step < lows.size(); ++step) {
      while (bytes.size() < lows[step]) bytes.push_back(static_cast<std::int64_t>(step));
      for (; bytes.size() > lows[step]; bytes.pop_back())
        if (bytes.back() > 0)
          longest = std::max(longest, static_cast<std::int64_t>(step) - bytes.back());
    }
    const SiteHistory history = StackedGrowth(lows);
    EXPECT_EQ(history.longest_lifetime, longest);
    EXPECT_EQ(history.steps, static_cast<std::int64_t>(lows.size()));
    std::vector<std::int64_t> stacked;
    for (std::size_t i = 0; i < history.birth_steps.size(); ++i)
      stacked.insert(stacked.end(), history.birth_bytes[i], history.birth_steps[i]);
    EXPECT_EQ(stacked, bytes);
  }
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
  EXPECT_DOUBLE_EQ(ProfileSlope(history, 10, 30), 20.0 / 5) << "the end is not in the window";
  EXPECT_EQ(ProfileSlope(history, 11, 16), 0);
  EXPECT_EQ(ProfileSlope({}, 0, 50), 0);
}

// A site that keeps one byte from every step for which `born` is true.
template <typename Born>
SiteHistory Keeping(std::int64_t steps, std::int64_t longest, Born born) {
  SiteHistory history;
  history.steps = steps;
  history.sizes_return = true;
  history.longest_lifetime = longest;
  std::uint64_t live = 0;
  for (std::int64_t step = 0; step < steps; ++step) {
    if (born(step)) {
      history.birth_steps.push_back(step);
      history.birth_bytes.push_back(1);
      ++live;
    }
    history.lows.push_back(live);
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
    history.lows[step] += step < 90 ? 1000 : 2000;  // by growth alone this would be a leak
  }
  EXPECT_EQ(JudgeSite(history).verdict, SiteVerdict::kNoLeak);
}

// A random leak: 23 births in 120 steps, most of them early.
TEST(LeaksRuleTest, UnevenBirthsAreALeakAllTheSame) {
  const std::set<std::int64_t> births = {1,  5,  9,  14, 17, 20, 22, 27, 30, 33, 38, 41,
                                         44, 49, 55, 58, 63, 70, 77, 84, 91, 99, 108};
  ASSERT_EQ(births.size(), 23u);
  const auto judgement =
      JudgeSite(Keeping(120, 0, [&](std::int64_t step) { return births.contains(step); }));
  EXPECT_EQ(judgement.verdict, SiteVerdict::kLeak) << judgement.score;
}

// A cache stores each size once, so births become rarer.
TEST(LeaksRuleTest, RareSizesFillACache) {
  SiteHistory history = Keeping(100, 0, [](std::int64_t step) {
    return step == 12 || step == 15 || step == 19 || step == 26 || step == 37 || step == 58 ||
           step == 80;
  });
  history.sizes_return = false;
  EXPECT_EQ(JudgeSite(history).verdict, SiteVerdict::kNoLeak);
}

// How often a leak that comes by chance is told, in 300 runs: the table of docs/leaks.md.
TEST(LeaksRuleTest, LeaksByChanceAreToldOnceTheyAreManyEnough) {
  struct Row {
    double chance;
    std::int64_t steps;
    double told;  // of the runs
  };
  std::mt19937_64 random(11);
  for (const auto& [chance, steps, told] :
       {Row{0.05, 100, 0.40}, Row{0.05, 200, 0.81}, Row{0.05, 400, 0.96}, Row{0.08, 100, 0.69},
        Row{0.08, 200, 0.94}, Row{0.08, 400, 0.99}, Row{0.20, 40, 0.71}, Row{0.20, 100, 0.98}}) {
    constexpr int kRuns = 300;
    int leaks = 0;
    for (int run = 0; run < kRuns; ++run) {
      std::bernoulli_distribution leaves(chance);
      leaks += JudgeSite(Keeping(steps, 0, [&](std::int64_t) { return leaves(random); })).verdict ==
               SiteVerdict::kLeak;
    }
    EXPECT_NEAR(leaks / static_cast<double>(kRuns), told, 0.08) << chance << " " << steps;
  }
}

TEST(LeaksRuleTest, WhatComesSeldomIsToldInALongerRun) {
  const auto seldom = [](std::int64_t step) { return step % 29 == 5; };
  const SiteJudgement judgement = JudgeSite(Keeping(100, 0, seldom));
  EXPECT_EQ(judgement.old_births, 3);
  EXPECT_LT(judgement.score, kSuspicion);
  const std::int64_t steps = StepsToTell(judgement);
  EXPECT_EQ(steps, (411 + 2) * 10 / 9 + 1) << "14 births in 88 steps have 3";
  const SiteJudgement longer = JudgeSite(Keeping(steps, 0, seldom));
  EXPECT_GE(longer.old_births, kTellingBirths);
  EXPECT_EQ(longer.verdict, SiteVerdict::kLeak);
}

// For example a tensor that is replaced by a larger one in each step.
TEST(LeaksRuleTest, WhatIsHeldRisesThoughNoBlockIsOld) {
  std::vector<std::uint64_t> lows(60);
  for (std::size_t step = 0; step < lows.size(); ++step) lows[step] = step * 1024;
  const auto judgement = JudgeSite(StackedGrowth(lows));
  EXPECT_EQ(judgement.verdict, SiteVerdict::kLeak);
  EXPECT_DOUBLE_EQ(judgement.slope, 1024);
}

TEST(LeaksRuleTest, WhatIsFreedAgainAndAgainIsNone) {
  std::vector<std::uint64_t> lows(60);
  for (std::size_t step = 0; step < lows.size(); ++step) lows[step] = step % 17 * 1024;
  EXPECT_NE(JudgeSite(StackedGrowth(lows)).verdict, SiteVerdict::kLeak);
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
