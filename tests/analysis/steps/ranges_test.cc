#include "analysis/steps/internal/ranges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/steps/found.h"
#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

using ::testing::ElementsAre;
using testing::LoadLog;
using testing::LogBuilder;

TEST(StepRangesTest, NamesThatSpeakOfSteps) {
  for (const char* name : {"step", "train_step", "TrainStep", "ProfilerStep#12", "iteration 3",
                           "Iter", "batch_7", "step12"})
    EXPECT_TRUE(NamesStep(name)) << name;
  for (const char* name : {"forward", "footsteps", "Optimizer.step#Adam.step", "iterate", "", "7"})
    EXPECT_FALSE(NamesStep(name)) << name;
  for (const char* name : {"optimizer", "Optimizer.step#SGD.step", "adam", "run_optim", "AdamW"})
    EXPECT_TRUE(NamesOptimizer(name)) << name;
  for (const char* name : {"madam", "step", ""}) EXPECT_FALSE(NamesOptimizer(name)) << name;
}

TEST(StepRangesTest, NumbersInNames) {
  std::int64_t number = 0;
  EXPECT_EQ(WithoutNumbers("epoch 2 step 31", &number), "epoch # step #");
  EXPECT_EQ(number, 31);
  EXPECT_EQ(WithoutNumbers("forward", &number), "forward");
  EXPECT_EQ(number, -1);
  EXPECT_EQ(WithoutNumbers("n99999999999999999999999", &number), "n#");
  EXPECT_EQ(number, -1);
}

TEST(StepRangesTest, WhatRepeats) {
  LogBuilder log;
  for (int i = 0; i < 4; ++i) {
    log.RangePush("iteration " + std::to_string(10 + i));
    log.RangePush("forward");
    log.RangePush("forward");  // within itself: no step
    log.RangePop();
    log.RangePop();
    if (i < 2) log.RangePush("rare");
    if (i < 2) log.RangePop();
    log.RangePush("optimizer", 2);
    log.RangePop(2);
    log.RangePop();
  }
  const auto session = LoadLog(log);
  const std::vector<RepeatedRange> repeated = FindRepeatedRanges(*session);
  ASSERT_EQ(repeated.size(), 2u);
  EXPECT_EQ(repeated[0].name, "iteration #");
  EXPECT_TRUE(repeated[0].names_step);
  EXPECT_THAT(repeated[0].numbers, ElementsAre(10, 11, 12, 13));
  EXPECT_GT(repeated[0].covered, 0.8);
  EXPECT_EQ(repeated[1].name, "optimizer");
  EXPECT_TRUE(repeated[1].names_optimizer);
  EXPECT_TRUE(repeated[1].numbers.empty());
  const FoundSteps found = FindSteps(*session);
  ASSERT_EQ(found.steps.size(), 4u);
  EXPECT_EQ(found.steps[0].number, 10);
}

}  // namespace
}  // namespace memprof::analysis
