// Steps of sessions: from marks, from ranges, from the pattern; and figures of each step.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "analysis/steps/figures.h"
#include "analysis/steps/found.h"
#include "proto/memprof.pb.h"
#include "tests/support/random_log.h"
#include "tests/support/training_log.h"

namespace memprof::analysis {
namespace {

using ::testing::HasSubstr;
using testing::LoadLog;
using testing::LogBuilder;
using testing::TrainingOptions;
using testing::TrainingTruth;

// Blocks allocated before each step.
std::vector<std::uint32_t> BirthsBefore(const Session& session,
                                        const std::vector<StepInfo>& steps) {
  std::vector<std::uint32_t> births;
  for (const StepInfo& step : steps) {
    std::uint32_t count = 0;
    for (const AllocationRecord& a : session.records())
      count += a.layer == Layer::kBlock && a.birth < step.event ? 1 : 0;
    births.push_back(count);
  }
  return births;
}

TEST(StepsTest, ThePatternHasTheStepsThatWereMade) {
  std::vector<TrainingOptions> all(9);
  all[1].micro_batches = 3;
  all[2].evaluate_every = 4;
  all[3].leak = true;
  all[4].vary_batch = true;
  all[5].stacks = false;
  all[6].keep_gradients = true;
  all[7] = {.steps = 100, .layers = 1, .tensors_per_layer = 2};
  all[8] = {.steps = 20, .micro_batches = 8, .evaluate_every = 3, .leak = true};
  for (std::size_t i = 0; i < all.size(); ++i) {
    SCOPED_TRACE(i);
    LogBuilder log;
    const TrainingTruth truth = WriteTrainingRun(all[i], &log);
    const auto session = LoadLog(log);
    const FoundSteps found = FindSteps(*session);
    EXPECT_EQ(found.origin.source, StepSource::kPattern);
    EXPECT_GE(found.origin.confidence, kStepConfidence) << found.origin.why;
    EXPECT_EQ(BirthsBefore(*session, found.steps), truth.births_before_step) << found.origin.why;
    // With varying sizes no step repeats another; with many micro-batches the optimizer state is a
    // small part.
    const bool hidden = all[i].vary_batch || all[i].micro_batches > 4;
    EXPECT_EQ(found.origin.warm_up_steps, hidden ? 0 : 1);
  }
}

TEST(StepsTest, MarksComeBeforeAllElse) {
  LogBuilder log;
  const TrainingOptions options{.steps = 5, .marks = true, .range = "step "};
  WriteTrainingRun(options, &log);
  const auto session = LoadLog(log);
  const FoundSteps found = FindSteps(*session);
  EXPECT_EQ(found.origin.source, StepSource::kMarks);
  EXPECT_EQ(found.origin.confidence, 1);
  EXPECT_EQ(found.steps.size(), 5u);
  EXPECT_EQ(found.origin.warm_up_steps, 1);
  EXPECT_EQ(session->step_origin().source, StepSource::kMarks);
  EXPECT_EQ(FindSteps(*session, StepChoice::kRanges).origin.source, StepSource::kRanges);
  EXPECT_EQ(FindSteps(*session, StepChoice::kPattern).origin.source, StepSource::kPattern);
}

TEST(StepsTest, RangesThatSpeakOfSteps) {
  LogBuilder log;
  const TrainingOptions options{.steps = 7, .range = "ProfilerStep#", .optimizer_range = true};
  const TrainingTruth truth = WriteTrainingRun(options, &log);
  const auto session = LoadLog(log);
  const FoundSteps found = FindSteps(*session);
  EXPECT_EQ(found.origin.source, StepSource::kRanges);
  EXPECT_GE(found.origin.confidence, 0.95);
  EXPECT_EQ(BirthsBefore(*session, found.steps), truth.births_before_step);
  EXPECT_EQ(found.steps[6].number, 6);
  EXPECT_THAT(found.origin.why, HasSubstr("\"ProfilerStep##\" comes 7 times"));
  EXPECT_GE(found.steps.back().end, found.steps.back().begin);
}

TEST(StepsTest, TheOptimizerEndsSteps) {
  LogBuilder log;
  const TrainingOptions options{.steps = 6, .micro_batches = 2, .optimizer_range = true};
  const TrainingTruth truth = WriteTrainingRun(options, &log);
  const auto session = LoadLog(log);
  const FoundSteps ranges = FindSteps(*session, StepChoice::kRanges);
  ASSERT_EQ(ranges.steps.size(), 6u);
  EXPECT_LT(ranges.origin.confidence, kStepConfidence);
  const std::vector<std::uint32_t> births = BirthsBefore(*session, ranges.steps);
  EXPECT_EQ(births[0], 0u);  // the first step includes set-up
  for (std::size_t i = 1; i < births.size(); ++i) EXPECT_EQ(births[i], truth.births_before_step[i]);
  EXPECT_EQ(FindSteps(*session).origin.source, StepSource::kPattern);
}

TEST(StepsTest, NoStepsAndWhy) {
  LogBuilder log;
  log.Device(0, 1 << 30);
  log.Alloc(Layer::kLinear, 0x1000, 4096);
  const FoundSteps found = FindSteps(*LoadLog(log));
  EXPECT_EQ(found.origin.source, StepSource::kNone);
  EXPECT_EQ(found.origin.confidence, 0);
  EXPECT_TRUE(found.steps.empty());
  EXPECT_THAT(found.origin.why, HasSubstr("marked no steps"));
  EXPECT_THAT(found.origin.why, HasSubstr("no ranges"));
  EXPECT_THAT(found.origin.why, HasSubstr("no pattern repeats in 1 allocation"));
  const FoundSteps empty = FindSteps(*LoadLog(LogBuilder()));
  EXPECT_TRUE(empty.steps.empty());
  for (const StepChoice choice : {StepChoice::kMarks, StepChoice::kRanges, StepChoice::kPattern})
    EXPECT_FALSE(FindSteps(*LoadLog(log), choice).origin.why.empty());
}

TEST(StepsTest, ASessionUsesFoundStepsAsItsOwn) {
  LogBuilder log;
  const TrainingTruth truth = WriteTrainingRun({.steps = 9}, &log);
  EXPECT_TRUE(LoadLog(log)->steps().empty());
  const auto session = LoadLog(log, {}, {});
  ASSERT_EQ(session->steps().size(), 9u);
  EXPECT_EQ(session->step_origin().source, StepSource::kPattern);
  EXPECT_EQ(session->step_origin().warm_up_steps, 1);
  std::uint32_t births = 0;
  for (const Allocation& a : session->allocations()) {
    const auto begin =
        std::upper_bound(truth.births_before_step.begin(), truth.births_before_step.end(), births);
    EXPECT_EQ(a.birth_step, begin - truth.births_before_step.begin() - 1);
    ++births;
  }
}

TEST(StepsTest, MarksAreNotLookedBehind) {
  LogBuilder log;
  WriteTrainingRun({.steps = 4, .marks = true}, &log);
  const auto session = LoadLog(log, {}, {});
  EXPECT_EQ(session->step_origin().source, StepSource::kMarks);
  EXPECT_EQ(session->steps().size(), 4u);
}

TEST(StepsTest, DoubtfulStepsAreNotUsed) {
  testing::RandomLog log({.seed = 3, .operations = 600, .steps = 0});
  const auto session = LoadLog(log.builder(), {}, {});
  EXPECT_TRUE(session->steps().empty());
  EXPECT_LT(session->step_origin().confidence, kStepConfidence);
}

// Figures of a step by a loop over all allocations.
StepFigures PlainFigures(const Session& session, StepLayer layer, EventId begin, EventId end) {
  StepFigures figures;
  for (const AllocationRecord& a : session.records()) {
    if (!IsOfStepLayer(layer, a.layer)) continue;
    if (a.birth >= begin && a.birth < end) {
      ++figures.allocations;
      figures.allocated_bytes += a.bytes;
    }
    if (a.death.valid() && a.death >= begin && a.death < end) {
      ++figures.frees;
      figures.freed_bytes += a.bytes;
    }
    if (a.birth < end && (!a.death.valid() || a.death >= end)) figures.after_bytes += a.bytes;
  }
  for (std::uint32_t e = begin.value; e <= end.value; ++e) {
    // Live bytes directly before event `e` and, if it allocates, directly after it.
    std::uint64_t live = 0;
    for (const AllocationRecord& a : session.records()) {
      if (!IsOfStepLayer(layer, a.layer)) continue;
      const bool born = a.birth.value < e, dead = a.death.valid() && a.death.value < e;
      if (born && !dead) live += a.bytes;
    }
    figures.peak_bytes = std::max(figures.peak_bytes, live);
  }
  return figures;
}

TEST(StepsTest, TheAgentWouldHelpWherePyTorchRanWithoutIt) {
  LogBuilder bare;
  EXPECT_FALSE(AgentWouldHelp(*LoadLog(bare)));
  LogBuilder idle;
  idle.SourceState("torch", log::SOURCE_OFF);
  EXPECT_FALSE(AgentWouldHelp(*LoadLog(idle)));
  LogBuilder torch;
  torch.SourceState("torch", log::SOURCE_ON);
  EXPECT_TRUE(AgentWouldHelp(*LoadLog(torch)));
  torch.SourceState("agent", log::SOURCE_ON);
  EXPECT_FALSE(AgentWouldHelp(*LoadLog(torch)));
}

TEST(StepsTest, FiguresAreThoseOfEveryAllocation) {
  for (std::uint32_t seed = 1; seed <= 6; ++seed) {
    testing::RandomLog log({.seed = seed, .operations = 150, .steps = 6});
    const auto session = LoadLog(log.builder());
    const StepLayer layer = ChooseStepLayer(*session);
    const std::vector<StepFigures> found = DescribeSteps(*session, session->steps());
    const auto events = static_cast<std::uint32_t>(session->events().size());
    ASSERT_EQ(found.size(), session->steps().size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      const EventId begin = session->steps()[i].event;
      const EventId end = i + 1 < found.size() ? session->steps()[i + 1].event : EventId(events);
      const StepFigures plain = PlainFigures(*session, layer, begin, end);
      EXPECT_EQ(found[i].allocations, plain.allocations);
      EXPECT_EQ(found[i].frees, plain.frees);
      EXPECT_EQ(found[i].allocated_bytes, plain.allocated_bytes);
      EXPECT_EQ(found[i].freed_bytes, plain.freed_bytes);
      EXPECT_EQ(found[i].after_bytes, plain.after_bytes);
      EXPECT_EQ(found[i].peak_bytes, plain.peak_bytes) << "seed " << seed << " step " << i;
    }
  }
}

TEST(StepsTest, StepsOfAnotherKindStandOut) {
  LogBuilder log;
  WriteTrainingRun({.steps = 9, .evaluate_every = 3, .marks = true}, &log);
  const auto session = LoadLog(log);
  const std::vector<StepFigures> figures = DescribeSteps(*session, session->steps());
  for (std::size_t i = 1; i < figures.size(); ++i)
    EXPECT_EQ(figures[i].likeness >= kStepAlike, i % 3 != 2) << i;
  EXPECT_TRUE(DescribeSteps(*session, {}).empty());
}

TEST(StepsTest, TheLayerThatDistinguishesSteps) {
  LogBuilder driver;
  driver.Device(0, 1 << 30);
  driver.Alloc(Layer::kLinear, 0x1000, 512);
  EXPECT_EQ(ChooseStepLayer(*LoadLog(driver)), StepLayer::kDriver);
  driver.Alloc(Layer::kBlock, 0x1000, 512);
  EXPECT_EQ(ChooseStepLayer(*LoadLog(driver)), StepLayer::kBlocks);
  LogBuilder tensors;
  tensors.Device(0, 1 << 30);
  const int name = tensors.Tensor("x", "float32", {1});
  tensors.Alloc(Layer::kLinear, 0x100000, 1 << 20);
  for (std::uint64_t i = 0; i < 8; ++i) tensors.TensorCreate(0x100000 + 512 * i, 512, name);
  EXPECT_EQ(ChooseStepLayer(*LoadLog(tensors)), StepLayer::kTensors);
}

// No allocation of a driver's layer belongs to the next one, whose step could then begin before the
// step of the first.
TEST(StepsTest, StepsOfTheDriversLayersBeginInOrder) {
  std::mt19937 random(3);
  std::size_t steps = 0;
  for (int i = 0; i < 100; ++i) {
    LogBuilder log;
    log.Device(0, std::uint64_t{1} << 40);
    for (unsigned round = 0, rounds = 2 + random() % 4; round < rounds; ++round) {
      std::vector<std::uint64_t> taken;
      for (const Layer layer : {Layer::kLinear, Layer::kPitched, Layer::kArray, Layer::kManaged})
        for (unsigned block = 0, blocks = random() % 4; block < blocks; ++block) {
          taken.push_back((taken.size() + 1) << 30);
          log.Alloc(layer, taken.back(), 4 << 20);
        }
      for (const std::uint64_t address : taken) log.Free(address);
    }
    const FoundSteps found = FindSteps(*LoadLog(log), StepChoice::kPattern);
    EXPECT_TRUE(std::ranges::is_sorted(found.steps, {}, &StepInfo::event));
    steps += found.steps.size();
  }
  EXPECT_GT(steps, 100u);
}

// Passes without gradients, whose lengths go round.
TEST(StepsTest, LengthsThatGoRoundMakeNoLongerSteps) {
  LogBuilder log;
  std::vector<int> stacks;
  for (int i = 0; i < 6; ++i)
    stacks.push_back(log.Stack({"main (a.cc:1)", "Layer" + std::to_string(i) + " (a.cc:2)"}));
  for (int pass = 0; pass < 40; ++pass) {
    const std::uint64_t bytes = (100 + 40 * (pass % 5)) * 1024;
    std::uint64_t before = 0;
    for (const int stack : stacks) {
      const std::uint64_t at = 0x100000000 + static_cast<std::uint64_t>(stack) * kMiB;
      log.Alloc(Layer::kLinear, at, bytes, {.stack = stack});
      if (before != 0) log.Free(before);
      before = at;
    }
    log.Free(before);
  }
  const FoundSteps found = FindSteps(*LoadLog(log));
  EXPECT_EQ(found.steps.size(), 40u) << found.origin.why;
  EXPECT_GE(found.origin.confidence, kStepConfidence) << found.origin.why;
}

TEST(StepsTest, WarmUpEndsWithTheFirstTypicalStep) {
  EXPECT_EQ(WarmUpSteps(std::vector<double>{0.2, 0.7, 0.96, 1, 0.3}), 2);
  EXPECT_EQ(WarmUpSteps(std::vector<double>{1, 1}), 0);
  EXPECT_EQ(WarmUpSteps(std::vector<double>{0.1, 0.2}), 0);
  EXPECT_EQ(WarmUpSteps({}), 0);
}

}  // namespace
}  // namespace memprof::analysis
