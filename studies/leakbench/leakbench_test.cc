// LeakBench's targets, on a few draws of the held-out half. bin/leakbench prints all figures.
#include <gtest/gtest.h>

#include <set>

#include "studies/leakbench/detectors.h"

namespace memprof::leakbench {
namespace {

std::vector<Sample> Draws(int count, int steps) {
  std::vector<Sample> all;
  for (int draw = 0; draw < count; ++draw)
    for (Sample& sample : Run(static_cast<std::uint32_t>(2 * draw + 1), steps))
      all.push_back(std::move(sample));
  return all;
}

const Detector& Named(const std::string& name) {
  for (const Detector& detector : Detectors())
    if (detector.name == name) return detector;
  ADD_FAILURE() << name;
  return Detectors().front();
}

// Worked examples, and the limits.
TEST(LeakBenchTest, IntervalsAreWilsons) {
  const auto [low, high] = WilsonInterval(81, 263);
  EXPECT_NEAR(low, 0.2553, 0.0001);
  EXPECT_NEAR(high, 0.3662, 0.0001);
  const auto [none_low, none_high] = WilsonInterval(0, 10);
  EXPECT_DOUBLE_EQ(none_low, 0);
  EXPECT_NEAR(none_high, 0.2775, 0.0001);
  EXPECT_EQ(WilsonInterval(0, 0), std::pair(0.0, 1.0));
}

TEST(LeakBenchTest, ACutRunIsTheBeginningOfTheWhole) {
  const std::vector<Sample> whole = leakbench::Run(3, 100);
  const std::vector<Sample> cut = leakbench::Run(3, 100, {.until = 40});
  ASSERT_EQ(whole.size(), cut.size());
  for (std::size_t i = 0; i < whole.size(); ++i) {
    ASSERT_LE(cut[i].blocks.size(), whole[i].blocks.size());
    for (std::size_t b = 0; b < cut[i].blocks.size(); ++b) {
      EXPECT_EQ(cut[i].blocks[b].birth, whole[i].blocks[b].birth);
      EXPECT_LT(cut[i].blocks[b].birth, 40);
    }
  }
}

TEST(LeakBenchTest, HasEnoughOfBothAndNamesThemApart) {
  int leaks = 0, others = 0;
  std::set<std::string> names;
  for (const Case& one : Cases()) {
    leaks += one.truth == Truth::kLeak;
    others += one.truth == Truth::kNoLeak;
    EXPECT_TRUE(names.insert(one.name).second) << one.name;
  }
  EXPECT_GE(leaks, 14);
  EXPECT_GE(others, 24);
}

// Bytes alive after `step`.
double HeldAfter(const Sample& sample, int step) {
  double bytes = 0;
  for (const BlockLife& block : sample.blocks)
    if (block.birth <= step && (block.alive() || block.death > step))
      bytes += static_cast<double>(block.bytes);
  return bytes;
}

// Checks the labels, up to random variation: memory of old steps stays, at the stated slope.
TEST(LeakBenchTest, LeaksLeakAsTheySay) {
  for (const Sample& sample : Draws(2, 400)) {
    if (sample.of->truth != Truth::kLeak) continue;
    SCOPED_TRACE(sample.of->name);
    double kept = 0;
    for (const BlockLife& block : sample.blocks)
      if (block.alive() && block.birth >= 200 && block.birth < 395)
        kept += static_cast<double>(block.bytes);
    if (sample.of->replaced) kept = HeldAfter(sample, 395) - HeldAfter(sample, 200);
    EXPECT_NEAR(kept / 195, sample.true_bytes_per_step, 0.4 * sample.true_bytes_per_step);
  }
}

TEST(LeakBenchTest, TargetsAtAHundredSteps) {
  const std::vector<Sample> samples = Draws(8, 100);
  const Score suspected = ScoreOf(Named("memprof, suspected"), samples, true);
  EXPECT_GE(suspected.precision(), 0.95);
  EXPECT_LE(suspected.false_positive_rate(), 0.005);
  EXPECT_GE(ScoreOf(Named("memprof, suspected or growing"), samples, true).recall(), 0.95);
  const Precision found = PrecisionOf(samples);
  EXPECT_GE(found.named_right, 0.98 * found.named);
  ASSERT_FALSE(found.slope_errors.empty());
  EXPECT_LE(found.slope_errors[found.slope_errors.size() / 2], 0.05);
}

// The held-out kinds, also without any steps. Each case alone needs a log, so there are few draws.
TEST(LeakBenchTest, TargetsOfTheHeldOutKinds) {
  for (const Steps marks : {Steps::kMarked, Steps::kUnmarked, Steps::kNoPattern}) {
    std::vector<Sample> samples;
    for (std::uint32_t seed = 0; seed < 2; ++seed)
      for (Sample& sample : leakbench::Run(seed, 100, {.kinds = Kinds::kHeldOut, .marks = marks}))
        samples.push_back(std::move(sample));
    const Score any = ScoreOf(Named("memprof, suspected or growing"), samples, true);
    EXPECT_GE(any.recall(), 0.9) << static_cast<int>(marks);
    EXPECT_GE(any.precision(), 0.9) << static_cast<int>(marks);
  }
}

// No older rule passes both targets: a benchmark that all rules pass would be useless.
TEST(LeakBenchTest, OlderRulesMissOrCryWolf) {
  const std::vector<Sample> samples = Draws(6, 100);
  for (const Detector& detector : Detectors()) {
    if (detector.name.starts_with("memprof")) continue;
    const Score score = ScoreOf(detector, samples, true);
    EXPECT_TRUE(score.precision() < 0.95 || score.recall() < 0.95) << detector.name;
  }
}

}  // namespace
}  // namespace memprof::leakbench
