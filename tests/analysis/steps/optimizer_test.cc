// Steps that end with the optimizer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "analysis/steps/found.h"
#include "tests/analysis/steps/frames_fixture.h"

namespace memprof::analysis {
namespace {

using testing::BirthsBefore;
using testing::FreeAll;
using ::testing::HasSubstr;
using testing::LoadLog;
using testing::Loop;

// The network is different in every step: only the work of the optimizer repeats.
std::shared_ptr<const Session> NeverTheSame(std::uint32_t seed, int steps, int optimizes_every,
                                            std::vector<std::uint32_t>* begins) {
  std::mt19937 random(seed);
  Loop loop;
  std::uint32_t count = 0;
  for (int i = 0; i < 5; ++i, ++count) loop.Alloc(kMiB, {"build (train.py:8)"});
  for (int step = 0; step < steps; ++step) {
    if (step % optimizes_every == 0) begins->push_back(count);
    std::vector<std::uint64_t> live;
    const int layers = 3 + static_cast<int>(random() % 20);
    live.push_back(loop.Alloc(kMiB / 4, {"batch (train.py:60)"}));
    for (int i = 0; i < layers; ++i)
      live.push_back(loop.Forward((1 + random() % 40) * 4096, std::to_string(random() % 900)));
    for (int i = 0; i < layers; ++i)
      live.push_back(loop.Backward((1 + random() % 40) * 4096, std::to_string(random() % 900)));
    count += 1 + 2 * static_cast<std::uint32_t>(layers);
    for (const std::uint64_t address : live) loop.Free(address);
    if (step % optimizes_every != optimizes_every - 1) continue;
    const std::uint64_t work = loop.Optimize(kMiB);
    loop.Free(work);
    ++count;
  }
  return LoadLog(loop.log());
}

TEST(StepFramesTest, TheOptimizerMarksStepsThatNeverRepeat) {
  for (std::uint32_t seed = 1; seed <= 10; ++seed) {
    for (const int every : {1, 3}) {
      std::vector<std::uint32_t> begins;
      const auto session = NeverTheSame(seed, 24, every, &begins);
      ASSERT_NE(session, nullptr);
      const FoundSteps found = FindSteps(*session);
      EXPECT_GE(found.origin.confidence, kStepConfidence) << found.origin.why;
      EXPECT_THAT(found.origin.why, HasSubstr("the optimizer allocates"));
      EXPECT_EQ(BirthsBefore(*session, found), begins) << "seed " << seed << ", every " << every;
    }
  }
}

// One step: activations are freed while gradients of weights are allocated. Returns the gradients.
std::vector<std::uint64_t> Learn(Loop* loop, int layers) {
  std::vector<std::uint64_t> live = {loop->Alloc(kMiB / 4, {"batch (train.py:60)"})}, gradients;
  for (int i = 0; i < layers; ++i) live.push_back(loop->Forward(kMiB));
  for (int i = 0; i < layers; ++i) {
    gradients.push_back(loop->Backward(kMiB / 2));
    loop->Free(live.back());
    live.pop_back();
  }
  loop->Free(live.back());
  return gradients;
}

// Layers, parameters and epochs repeat too; the optimizer determines which repetitions are steps.
TEST(StepFramesTest, TheOptimizerOutranksWhatElseRepeats) {
  for (const int steps : {1, 2, 3, 20}) {
    Loop loop;
    std::vector<std::uint64_t> metrics;
    for (int step = 0; step < steps; ++step) {
      std::vector<std::uint64_t> gradients = Learn(&loop, 24);
      for (int i = 0; i < 24; ++i) loop.Free(loop.Optimize(kMiB));  // one parameter after another
      FreeAll(&loop, &gradients);
      metrics.push_back(loop.Alloc(4 * kMiB, {"measure (train.py:70)"}));
      if (step % 5 == 4) FreeAll(&loop, &metrics);
    }
    const FoundSteps found = FindSteps(*LoadLog(loop.log()));
    EXPECT_EQ(found.steps.size(), static_cast<std::size_t>(steps)) << found.origin.why;
    EXPECT_EQ(found.origin.confidence >= kStepConfidence, steps >= 3) << found.origin.why;
  }
}

TEST(StepFramesTest, OptimizersThatTakeTurnsMakeOneStep) {
  struct Case {
    std::string lines;  // the optimizers' calls in order
    std::size_t steps;
  };
  for (const Case& c : {Case{"ABABABABABAB", 6}, Case{"AAAAAABBBBBB", 12}, Case{"ABBABBABBABB", 8},
                        Case{"AABAAABAABAA", 9}}) {
    Loop loop;
    std::mt19937 random(3);
    for (const char line : c.lines) {
      std::vector<std::uint64_t> gradients = Learn(&loop, 3 + static_cast<int>(random() % 20));
      loop.Free(loop.Optimize(kMiB, std::string(1, line)));
      FreeAll(&loop, &gradients);
    }
    const FoundSteps found = FindSteps(*LoadLog(loop.log()));
    EXPECT_EQ(found.steps.size(), c.steps) << c.lines << ": " << found.origin.why;
  }
}

// A new SGD with momentum in each stage allocates its buffers at its first run, and nothing later.
TEST(StepFramesTest, BuffersOfAnOptimizerThatIsMadeAnewAreNoUpdates) {
  for (const int stages : {2, 3, 6}) {
    Loop loop;
    std::mt19937 random(5);
    std::vector<std::uint64_t> buffers;
    for (int step = 0; step < 54; ++step) {
      std::vector<std::uint64_t> gradients = Learn(&loop, 3 + static_cast<int>(random() % 20));
      if (step % (54 / stages) == 0) {
        FreeAll(&loop, &buffers);
        for (int i = 0; i < 4; ++i) buffers.push_back(loop.Optimize(kMiB));
      }
      FreeAll(&loop, &gradients);
    }
    const FoundSteps found = FindSteps(*LoadLog(loop.log()));
    EXPECT_EQ(found.steps.size(), 54u) << found.origin.why;
    EXPECT_GE(found.origin.confidence, kStepConfidence) << found.origin.why;
  }
}

TEST(StepFramesTest, AveragesOfWeightsAreNoUpdates) {
  Loop loop;
  std::mt19937 random(7);
  for (int step = 0; step < 40; ++step) {
    std::vector<std::uint64_t> gradients = Learn(&loop, 3 + static_cast<int>(random() % 20));
    FreeAll(&loop, &gradients);
    if (step >= 20 && step % 5 == 0)
      loop.Free(loop.Alloc(kMiB, {"main (train.py:9)", "update (/v/torch/optim/swa_utils.py:3)"}));
  }
  const FoundSteps found = FindSteps(*LoadLog(loop.log()));
  EXPECT_EQ(found.steps.size(), 40u) << found.origin.why;
}

TEST(StepFramesTest, AnOptimizerThatSeldomAllocatesMarksNoSteps) {
  std::vector<std::uint32_t> begins;
  const auto twice = NeverTheSame(3, 24, 18, &begins);
  ASSERT_NE(twice, nullptr);
  EXPECT_LT(FindSteps(*twice).origin.confidence, kStepConfidence) << "two are not enough";
  begins.clear();
  const auto thrice = NeverTheSame(3, 24, 9, &begins);
  EXPECT_EQ(BirthsBefore(*thrice, FindSteps(*thrice)), begins) << "the last one was truncated";
  const auto never = NeverTheSame(3, 24, 100, &begins);
  EXPECT_THAT(FindSteps(*never).origin.why, HasSubstr("gradients are freed"));
}

}  // namespace
}  // namespace memprof::analysis
