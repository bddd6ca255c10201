// The program as users run it: its training, and that all modes agree.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/demo_trainer/trainer_process.h"

namespace memprof::demo {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

// Gradient norms show a wrong scale of the gradients; losses do not, because of clipping and AdamW.
std::vector<double> GradientNorms(const std::string& out) { return Numbers(out, "gradient norm "); }

// "step …" lines of training only. They must not depend on the mode.
std::string StepLines(const std::string& out) {
  std::istringstream stream(out);
  std::string lines;
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with("step ") && line.find("held-out") == std::string::npos) {
      lines += line + "\n";
    }
  }
  return lines;
}

TEST(ProgramTest, LossFalls) {
  const Outcome run = TrainSmall({"--steps", "40", "--lr", "0.005"});
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(run.err, "");
  const std::vector<double> losses = Losses(run.out);
  ASSERT_EQ(losses.size(), 40u);
  EXPECT_NEAR(losses.front(), std::log(256.0), 0.1) << "an untrained model knows nothing";
  EXPECT_LT(losses.back(), 3.6);
}

TEST(ProgramTest, SameSeedSameRun) {
  const Outcome first = TrainSmall({});
  ASSERT_EQ(first.status, 0) << first.err;
  EXPECT_EQ(TrainSmall({}).out, first.out);
  EXPECT_NE(TrainSmall({"--seed", "2"}).out, first.out);
}

TEST(ProgramTest, MemoryOptionsChangeNoDigit) {
  const std::string plain = StepLines(TrainSmall({}).out);
  ASSERT_EQ(Losses(plain).size(), 8u);
  const std::vector<std::string> cases[] = {{"--checkpointing"},
                                            {"--inplace"},
                                            {"--prefetch"},
                                            {"--allocator", "cuda"},
                                            {"--allocator", "async"},
                                            {"--max-split", "21MiB"},
                                            {"--allocator", "async", "--prefetch", "--inplace"}};
  for (const auto& options : cases) {
    EXPECT_EQ(StepLines(TrainSmall(options).out), plain) << options[0];
  }
}

TEST(ProgramTest, CheckpointingAndInPlaceSaveMemory) {
  const auto peak = [](std::vector<std::string> options) {
    options.push_back("--stats");
    options.insert(options.end(), {"--layers", "4", "--steps", "2"});
    return Stat(TrainSmall(options).out, "end", "peak_allocated");
  };
  const int64_t plain = peak({});
  ASSERT_GT(plain, 0);
  EXPECT_LT(peak({"--checkpointing"}), plain * 8 / 10);
  EXPECT_LT(peak({"--inplace"}), plain);
  EXPECT_LT(peak({"--dtype", "bf16"}), plain);
}

void ExpectSameTraining(const std::vector<std::string>& options) {
  const Outcome alone = TrainSmall({});
  const Outcome run = TrainSmall(options);
  ASSERT_EQ(run.status, 0) << run.err;
  for (const auto& read : {Losses, GradientNorms}) {
    const std::vector<double> expected = read(alone.out);
    const std::vector<double> actual = read(run.out);
    ASSERT_EQ(expected.size(), 8u);
    ASSERT_EQ(actual.size(), 8u);
    for (size_t i = 0; i < 8; ++i) EXPECT_NEAR(actual[i], expected[i], 2e-3) << i;
  }
}

TEST(ProgramTest, TwoDevicesTrainLikeOne) { ExpectSameTraining({"--devices", "2"}); }

TEST(ProgramTest, TwoRanksTrainLikeOne) { ExpectSameTraining({"--ranks", "2"}); }

TEST(ProgramTest, RanksOfDevicesTrainLikeOne) {
  ExpectSameTraining({"--ranks", "2", "--devices", "2", "--prefetch"});
}

TEST(ProgramTest, AccumulatingTrainsLikeOneBatch) {
  ExpectSameTraining({"--batch", "4", "--grad-accum", "2"});
}

TEST(ProgramTest, LossScalingDoesNotChangeTheTraining) {
  ExpectSameTraining({"--loss-scale", "1024"});
}

TEST(ProgramTest, BFloat16TrainsWithLossScaling) {
  const Outcome run = TrainSmall({"--dtype", "bf16", "--steps", "20", "--lr", "0.005"});
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("loss scale 65536"));
  const std::vector<double> alone = Losses(TrainSmall({"--steps", "20", "--lr", "0.005"}).out);
  const std::vector<double> low = Losses(run.out);
  ASSERT_EQ(low.size(), 20u);
  EXPECT_NEAR(low.back(), alone.back(), 0.1);
}

TEST(ProgramTest, OverflowSkipsStepsUntilTheScaleFits) {
  const Outcome run =
      TrainSmall({"--dtype", "bf16", "--loss-scale", "3e38", "--batch", "1", "--context", "2"});
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("step 0: a gradient overflowed; step skipped, loss scale 3e+38 "
                                 "-> 1.5e+38"));
  EXPECT_FALSE(Losses(run.out).empty()) << "the scale must become suitable";
}

TEST(ProgramTest, EvaluatesOnHeldOutText) {
  const Outcome run = TrainSmall({"--eval-every", "4", "--empty-cache"});
  EXPECT_THAT(run.out, ContainsRegex("step 3: held-out loss [45]\\."));
  EXPECT_THAT(run.out, ContainsRegex("step 7: held-out loss [45]\\."));
  // Evaluations do not change the training.
  EXPECT_EQ(StepLines(run.out), StepLines(TrainSmall({}).out));
}

TEST(ProgramTest, StatsAreEmptyAtExitUnlessItLeaks) {
  const Outcome clean = TrainSmall({"--stats"});
  EXPECT_GT(Stat(clean.out, "end", "allocated"), 0);
  EXPECT_EQ(Stat(clean.out, "exit", "allocated"), 0);
  EXPECT_EQ(Stat(clean.out, "exit", "reserved"), 0);
  const Outcome leaking = TrainSmall({"--stats", "--leak", "shape-cache"});
  EXPECT_EQ(Stat(leaking.out, "exit", "requested"), 8 * 256 * 1024);
}

TEST(ProgramTest, WorkersOfTheStandInChangeNoDigit) {
  const std::string plain = StepLines(TrainSmall({}).out);
  EXPECT_EQ(StepLines(TrainSmall({}, "threads=1").out), plain);
  EXPECT_EQ(StepLines(TrainSmall({"--prefetch"}, "threads=5,async=0").out), plain);
}

TEST(ProgramTest, SkippedStepsChangeNoWeight) {
  const std::vector<std::string> options = {"--dtype",      "bf16", "--batch",      "1",
                                            "--steps",      "1",    "--context",    "2",
                                            "--loss-scale", "3e38", "--eval-every", "1"};
  const Outcome skipped = TrainSmall(options);
  ASSERT_THAT(skipped.out, HasSubstr("step 0: a gradient overflowed"));
  std::vector<std::string> still = options;
  still.insert(still.end(), {"--loss-scale", "1", "--lr", "0"});
  const Outcome untouched = TrainSmall(still);
  ASSERT_EQ(Numbers(untouched.out, "held-out loss ").size(), 1u) << untouched.err;
  EXPECT_EQ(Numbers(skipped.out, "held-out loss "), Numbers(untouched.out, "held-out loss "));
}

TEST(ProgramTest, TheLossScaleGrowsAfterAHundredGoodSteps) {
  const Outcome run = TrainSmall({"--dtype", "bf16", "--loss-scale", "8", "--steps", "102",
                                  "--layers", "1", "--dim", "8", "--context", "8", "--batch", "1"});
  ASSERT_EQ(run.status, 0) << run.err;
  const std::vector<double> scales = Numbers(run.out, "loss scale ");
  ASSERT_EQ(scales.size(), 102u);
  EXPECT_EQ(scales[99], 8.0);
  EXPECT_EQ(scales[100], 16.0);
}

TEST(ProgramTest, ClippingLimitsWhatAStepDoes) {
  // With AdamW a scaled gradient has little effect, but the printed norm is the one before
  // clipping.
  const Outcome free_run = TrainSmall({"--clip", "0"});
  const Outcome clipped = TrainSmall({"--clip", "0.01"});
  EXPECT_EQ(GradientNorms(clipped.out)[0], GradientNorms(free_run.out)[0]);
  EXPECT_NE(StepLines(clipped.out), StepLines(free_run.out));
}

}  // namespace
}  // namespace memprof::demo
