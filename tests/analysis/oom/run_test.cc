// Failed requests: what the earlier run shows about them: steps, growth and memory still needed.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "analysis/oom/oom.h"
#include "analysis/oom/words.h"
#include "tests/analysis/oom/case.h"

namespace memprof::analysis {
namespace {

using testing::AllocatorGivesUp;
using testing::Case;
using testing::DriverRefuses;
using testing::kBase;
using testing::Load;
using testing::LogBuilder;
using testing::Segment;

TEST(OomRunTest, ComparesWithTheSameCallOfTheStepBefore) {
  LogBuilder log;
  log.Device(0, 40 * kMiB);
  const int work = log.Stack({"main (a.cc:1)", "Work (a.cc:2)"});
  const int leak = log.Stack({"main (a.cc:1)", "Leak (a.cc:3)"});
  for (std::uint64_t step = 0; step < 2; ++step) {
    log.Step(step);
    log.Alloc(Layer::kLinear, kBase + step * kMiB, kMiB, {.stack = leak});
    log.Alloc(Layer::kLinear, kBase + 32 * kMiB, 4 * kMiB, {.stack = work});
    log.Alloc(Layer::kLinear, kBase + 40 * kMiB, 5 * kMiB, {.stack = work});
    log.Free(kBase + 32 * kMiB);
    log.Free(kBase + 40 * kMiB);
  }
  log.Step(2);
  log.Alloc(Layer::kLinear, kBase + 2 * kMiB, kMiB, {.stack = leak});
  log.Alloc(Layer::kLinear, kBase + 32 * kMiB, 4 * kMiB, {.stack = work});
  DriverRefuses(log, 5 * kMiB, 4 * kMiB, 40 * kMiB, work);
  const Case c = Load(log);
  EXPECT_EQ(c.last.compared_step, 1);
  EXPECT_TRUE(c.last.same_call);
  EXPECT_EQ(c.last.live_before, 6 * kMiB);
  EXPECT_EQ(c.last.live_after, 7 * kMiB);
  ASSERT_EQ(c.last.changes.size(), 1u);
  EXPECT_EQ(c.SiteName(c.last.changes[0].site), "Leak");
  EXPECT_EQ(c.last.changes[0].before, 2 * kMiB);
  EXPECT_EQ(c.last.changes[0].after, 3 * kMiB);
  // A growing site is named before a smaller one.
  ASSERT_NE(c.Find(RemedyKind::kSites), nullptr);
  EXPECT_EQ(c.SiteName(c.Find(RemedyKind::kSites)->sites[0].site), "Leak");
}

// 30 steps that keep 2 MiB each; the 31st has no space for its work. `hole` bytes are unused.
Case GrowingRun(std::uint64_t hole, bool leaks = true) {
  LogBuilder log;
  log.Device(0, 512 * kMiB);
  const int work = log.Stack({"main (a.cc:1)", "Work (a.cc:2)"});
  const int leak = log.Stack({"main (a.cc:1)", "Keep (a.cc:3)"});
  Segment(log, kBase, 100 * kMiB + hole);
  const std::uint64_t room = kBase + 64 * kMiB;  // 36 MiB and the hole
  for (std::uint64_t step = 0; step <= 30; ++step) {
    log.Step(step);
    if (leaks || step == 0)
      log.Alloc(Layer::kBlock, kBase + step * 2 * kMiB, leaks ? 2 * kMiB : 62 * kMiB,
                {.stack = leak, .aux0 = 2 * kMiB});
    log.Alloc(Layer::kBlock, room, 20 * kMiB, {.stack = work, .aux0 = 20 * kMiB});
    if (step < 30) log.Free(Layer::kBlock, room);
  }
  DriverRefuses(log, 20 * kMiB, kMiB, 512 * kMiB, work);
  AllocatorGivesUp(log, 20 * kMiB, work);
  return Load(log);
}

TEST(OomRunTest, ALeakThatFilledTheDeviceIsNamedFirst) {
  const Case c = GrowingRun(2 * kMiB);
  EXPECT_EQ(c.last.cause, FailureCause::kFragmentation) << "correct but not useful";
  ASSERT_TRUE(c.last.growth);
  EXPECT_EQ(c.last.growth->site.function, "Keep");
  EXPECT_EQ(c.last.growth->sites, 1u);
  EXPECT_EQ(c.last.growth->bytes, 62 * kMiB);
  EXPECT_DOUBLE_EQ(c.last.growth->bytes_per_step, 2.0 * kMiB);
  ASSERT_FALSE(c.last.remedies.empty());
  ASSERT_EQ(c.last.remedies[0].kind, RemedyKind::kSites);
  EXPECT_EQ(c.SiteName(c.last.remedies[0].sites[0].site), "Keep");
}

TEST(OomRunTest, GrowthThatIsLessThanWhatLiesUnusedIsNotTheReason) {
  EXPECT_FALSE(GrowingRun(80 * kMiB).last.growth) << "holes are larger";
  EXPECT_FALSE(GrowingRun(2 * kMiB, false).last.growth) << "nothing leaks";
}

// An evaluation without steps, of so many batches; the results of each batch are kept if `keeps`.
Case Evaluation(int batches, bool keeps, bool loads) {
  LogBuilder log;
  log.Device(0, 512 * kMiB);
  const int load = log.Stack({"main (a.cc:1)", "Evaluate (a.cc:7)"});
  const int layer = log.Stack({"main (a.cc:1)", "Evaluate (a.cc:8)"});
  Segment(log, kBase, 100 * kMiB);
  std::uint64_t at = kBase + 8 * kMiB;
  for (int batch = 0; batch < batches; ++batch) {
    if (loads) log.Alloc(Layer::kBlock, kBase, 2 * kMiB, {.stack = load});
    for (const std::uint64_t bytes : {2 * kMiB, kMiB}) {
      log.Alloc(Layer::kBlock, at, bytes, {.stack = layer});
      if (!keeps) log.Free(Layer::kBlock, at);
      at += bytes;
    }
    if (loads) log.Free(Layer::kBlock, kBase);
  }
  DriverRefuses(log, 20 * kMiB, kMiB, 512 * kMiB, layer);
  AllocatorGivesUp(log, 20 * kMiB, layer);
  return Load(log);
}

TEST(OomRunTest, WithoutStepsTheLineThatGrewInEachIterationIsNamed) {
  const Case c = Evaluation(25, true, true);
  ASSERT_TRUE(c.last.growth);
  EXPECT_EQ(c.last.growth->site.line, 8);
  EXPECT_EQ(c.last.growth->iterations, 25u);
  EXPECT_EQ(c.last.growth->bytes, 75 * kMiB);
  EXPECT_DOUBLE_EQ(c.last.growth->bytes_per_step, 3.0 * kMiB);
  ASSERT_EQ(c.last.remedies.at(0).kind, RemedyKind::kSites);
  EXPECT_EQ(c.last.remedies[0].bytes, 75 * kMiB);
  for (std::size_t i = 2; i < c.last.remedies.size() && c.last.remedies[i].fits; ++i)
    EXPECT_GE(c.last.remedies[i - 1].beyond, c.last.remedies[i].beyond);
}

TEST(OomRunTest, WithoutIterationsThatKeepSomethingNothingGrew) {
  EXPECT_FALSE(Evaluation(25, false, true).last.growth);
  EXPECT_FALSE(Evaluation(2, true, true).last.growth) << "too few iterations";
}

// A model's layers are one call of one line, as are the tensors of a checkpoint.
TEST(OomRunTest, OneCallOfALineIsNoGrowth) {
  EXPECT_FALSE(Evaluation(25, true, false).last.growth);
}

// One function allocates at two lines in turn: an activation that is kept, and one that is kept if
// `keeps_both`. Then the request fails in this loop, or at a later line.
Case Layers(bool keeps_both, bool in_loop) {
  LogBuilder log;
  log.Device(0, 512 * kMiB);
  const int made = log.Stack({"main (a.cc:1)", "Forward (a.cc:6)"});
  const int used = log.Stack({"main (a.cc:1)", "Forward (a.cc:7)"});
  const int after = log.Stack({"main (a.cc:1)", "Forward (a.cc:9)"});
  Segment(log, kBase, 60 * kMiB);
  std::uint64_t at = kBase;
  for (int layer = 0; layer < 15; ++layer) {
    log.Alloc(Layer::kBlock, at, kMiB, {.stack = made});
    log.Alloc(Layer::kBlock, at + kMiB, 3 * kMiB, {.stack = used});
    if (!keeps_both) log.Free(Layer::kBlock, at);
    at += 4 * kMiB;
  }
  DriverRefuses(log, 20 * kMiB, kMiB, 512 * kMiB, in_loop ? made : after);
  AllocatorGivesUp(log, 20 * kMiB, in_loop ? made : after);
  return Load(log);
}

TEST(OomRunTest, WhatOneLoopFilledGrewOnlyIfItGoesOn) {
  EXPECT_TRUE(Layers(false, true).last.growth);
  EXPECT_FALSE(Layers(true, true).last.growth) << "a table that is filled, or a forward pass";
  EXPECT_FALSE(Layers(false, false).last.growth) << "the loop had ended";
}

// 10 MiB of parameters and 80 MiB of activations on a device of 100 MiB.
struct FirstStepRun {
  LogBuilder log;
  const int made = log.Stack({"main (a.cc:1)", "Parameter::Parameter (p.cc:2)"});
  const int forward = log.Stack({"main (a.cc:1)", "Model::Forward (m.cc:3)"});

  FirstStepRun() {
    log.Device(0, 100 * kMiB);
    log.Alloc(Layer::kLinear, kBase, 10 * kMiB, {.stack = made});
    log.Alloc(Layer::kLinear, kBase + 10 * kMiB, 80 * kMiB, {.stack = forward});
  }
};

TEST(OomRunTest, InTheFirstStepWhatIsToComeIsNamed) {
  for (const bool in_backward : {false, true}) {
    FirstStepRun run;
    LogBuilder& log = run.log;
    const int backward = log.Stack({"main (a.cc:1)", "Model::Backward (m.cc:4)"});
    if (in_backward) log.Alloc(Layer::kLinear, kBase + 90 * kMiB, kMiB, {.stack = backward});
    DriverRefuses(log, 20 * kMiB, 8 * kMiB, 100 * kMiB, run.forward);
    const FailureReport report = Load(log).last;
    ASSERT_TRUE(report.first_step);
    EXPECT_EQ(report.first_step->parameters, 10 * kMiB);
    EXPECT_EQ(report.first_step->gradients, (in_backward ? 9 : 10) * kMiB) << "1 MiB is allocated";
    EXPECT_EQ(report.first_step->optimizer_state, 20 * kMiB);
    EXPECT_FALSE(report.growth);
  }
}

// The optimizer allocates its state in its first call: Adam needs 20 MiB, of which 5 are allocated.
TEST(OomRunTest, InTheFirstCallOfTheOptimizerItsStateIsToCome) {
  for (const bool goes_on : {false, true}) {
    FirstStepRun run;
    LogBuilder& log = run.log;
    const int optimizer = log.Stack({"main (a.cc:1)", "Adam::Step (adam.cc:4)"});
    log.Alloc(Layer::kLinear, kBase + 90 * kMiB, 5 * kMiB, {.stack = optimizer});
    if (goes_on) log.Alloc(Layer::kLinear, kBase + 95 * kMiB, kMiB, {.stack = run.forward});
    DriverRefuses(log, 8 * kMiB, 4 * kMiB, 100 * kMiB, optimizer);
    const FailureReport report = Load(log).last;
    ASSERT_EQ(report.first_step.has_value(), !goes_on) << "a second step had begun";
    if (goes_on) continue;
    EXPECT_TRUE(report.first_step->optimizer);
    EXPECT_EQ(report.first_step->gradients, 0u);
    EXPECT_EQ(report.first_step->optimizer_state, 15 * kMiB);
  }
}

// PyTorch's Adam makes two moments of each of 10 parameters of 1 MiB, at lines of _init_group; with
// `temporaries`, these are complete and its step needs more. `before`: an optimizer of another kind
// worked for three steps.
Case FirstOfAdam(int made, bool temporaries, bool before, bool grown = false) {
  LogBuilder log;
  log.Device(0, 64 * kMiB);
  std::uint64_t at = kBase;
  const auto make = [&](const std::vector<std::string>& way) {
    log.Alloc(Layer::kLinear, at, kMiB, {.stack = log.Stack(way)});
    return std::exchange(at, at + kMiB);
  };
  const std::string main = "main (a.cc:1)";
  for (int i = 0; i < 10; ++i) make({main, "Parameter::Parameter (p.cc:2)"});
  std::vector<std::uint64_t> gradients;
  for (int step = 0; step < (before ? 4 : 1); ++step) {
    for (const std::uint64_t gradient : std::exchange(gradients, {})) log.Free(gradient);
    log.Free(make({main, "Model::Forward (m.cc:3)"}));
    for (int i = 0; i < 10; ++i) gradients.push_back(make({main, "Model::Backward (m.cc:4)"}));
    if (step < 3 && before) log.Free(make({main, "SGD::Step (/x/optim/sgd.cc:5)"}));
  }
  const std::vector<std::string> state = {main, "Adam::step (/x/optim/adam.cc:6)",
                                          "Adam::_init_group (/x/optim/adam.cc:7)"};
  const std::vector<std::string> work = {main, "Adam::step (/x/optim/adam.cc:8)"};
  for (int i = 0; i < made; ++i) {
    make(state);
    if (grown) log.Free(make(work));
  }
  if (temporaries) make(work);
  DriverRefuses(log, kMiB, kMiB / 2, 64 * kMiB, log.Stack(temporaries ? work : state));
  return Load(log);
}

TEST(OomRunTest, InTheFirstStepOfAdamItsMissingStateIsNamed) {
  for (const bool before : {false, true}) {
    const FailureReport report = FirstOfAdam(5, false, before).last;
    ASSERT_TRUE(report.first_step) << before;
    EXPECT_FALSE(report.growth);
    EXPECT_EQ(report.first_step->steps_before, before);
    EXPECT_EQ(report.first_step->gradients_there, 10 * kMiB);
    EXPECT_EQ(report.first_step->state_there, 5 * kMiB);
    EXPECT_EQ(report.first_step->optimizer_state, 15 * kMiB);
    const std::string words = FailureVerdict(report);
    EXPECT_NE(words.find("The gradients are there, 10.0 MiB. At least 15.0 MiB of Adam's state are "
                         "still to come; 5.00 MiB of it are there"),
              std::string::npos)
        << words;
    EXPECT_EQ(words.find("No step had finished") == std::string::npos, before) << words;
  }
}

TEST(OomRunTest, WhereAdamsStateIsThereItLacksTemporaries) {
  const FailureReport report = FirstOfAdam(20, true, false).last;
  ASSERT_TRUE(report.first_step);
  EXPECT_EQ(report.first_step->optimizer_state, 0u);
  EXPECT_NE(FailureVerdict(report).find("20.0 MiB of its state are there; the request is for "
                                        "temporaries of its step."),
            std::string::npos)
      << FailureVerdict(report);
}

TEST(OomRunTest, StateThatAnOptimizerMakesAtOnceIsNoStep) {
  FirstStepRun run;
  run.log.Alloc(
      Layer::kLinear, kBase + 90 * kMiB, 5 * kMiB,
      {.stack = run.log.Stack({"main (a.py:1)", "Adagrad.__init__ (/x/optim/adagrad.py:5)"})});
  run.log.Alloc(Layer::kLinear, kBase + 95 * kMiB, kMiB, {.stack = run.forward});
  DriverRefuses(run.log, 8 * kMiB, 4 * kMiB, 100 * kMiB, run.forward);
  const FailureReport report = Load(run.log).last;
  ASSERT_TRUE(report.first_step);
  EXPECT_EQ(report.first_step->gradients, 10 * kMiB);
  EXPECT_EQ(report.first_step->optimizer_state, 0u) << "it is there";
  EXPECT_EQ(FailureVerdict(report).find("momentum"), std::string::npos);
}

// foreach=False: state and work of one parameter after the other.
TEST(OomRunTest, StateMadeInALoopIsNoGrowth) {
  const FailureReport report = FirstOfAdam(12, false, false, true).last;
  EXPECT_FALSE(report.growth);
  ASSERT_TRUE(report.first_step);
  EXPECT_EQ(report.first_step->optimizer_state, 8 * kMiB);
}

// Steps of 10 MiB, and one of 60 MiB in which the next request fails.
Case LargerStepRun(std::uint64_t last) {
  LogBuilder log;
  log.Device(0, 100 * kMiB);
  const int batch = log.Stack({"main (a.cc:1)", "Load (a.cc:2)"});
  const int pass = log.Stack({"main (a.cc:1)", "Run (a.cc:3)"});
  for (std::uint64_t step = 0; step < 6; ++step) {
    log.Step(step);
    const std::uint64_t bytes = step < 5 ? 9 * kMiB : last;
    log.Alloc(Layer::kLinear, kBase, kMiB, {.stack = batch});
    log.Alloc(Layer::kLinear, kBase + kMiB, bytes, {.stack = pass});
    if (step == 5) break;
    log.Free(Layer::kLinear, kBase + kMiB);
    log.Free(Layer::kLinear, kBase);
  }
  DriverRefuses(log, 8 * kMiB, 4 * kMiB, 100 * kMiB, pass);
  return Load(log);
}

TEST(OomRunTest, AStepThatHeldMoreThanAllBeforeIsNamed) {
  const Case c = LargerStepRun(59 * kMiB);
  ASSERT_TRUE(c.last.larger_step);
  EXPECT_EQ(c.last.larger_step->live, 60 * kMiB);
  EXPECT_EQ(c.last.larger_step->highest_before, 10 * kMiB);
  EXPECT_EQ(c.last.larger_step->site.line, 3);
  EXPECT_EQ(c.last.larger_step->more, 59 * kMiB);
  EXPECT_FALSE(c.last.growth || c.last.first_step);
  ASSERT_EQ(c.last.remedies.at(0).kind, RemedyKind::kSites)
      << "the remedy that leaves the most free comes first";
  EXPECT_EQ(c.last.remedies[0].bytes, 59 * kMiB);
  for (std::size_t i = 1; i < c.last.remedies.size() && c.last.remedies[i].fits; ++i)
    EXPECT_GE(c.last.remedies[i - 1].beyond, c.last.remedies[i].beyond);
  EXPECT_FALSE(LargerStepRun(9 * kMiB).last.larger_step) << "the same as the others";
  EXPECT_FALSE(LargerStepRun(16 * kMiB).last.larger_step) << "by less than the request";
}

// Each step rises to 80 MiB. The last one fails earlier, with three times as much memory as the
// others at the same call.
TEST(OomRunTest, AStepThatIsLargerAtTheSameCallIsNamed) {
  for (const std::uint64_t last : {30, 11}) {
    LogBuilder log;
    log.Device(0, 100 * kMiB);
    const int first = log.Stack({"main (a.cc:1)", "Run (a.cc:3)"});
    const int second = log.Stack({"main (a.cc:1)", "Run (a.cc:4)"});
    for (std::uint64_t step = 0; step < 6; ++step) {
      log.Step(step);
      log.Alloc(Layer::kLinear, kBase, (step < 5 ? 10 : last) * kMiB, {.stack = first});
      if (step == 5) break;
      log.Alloc(Layer::kLinear, kBase + 10 * kMiB, 25 * kMiB, {.stack = second});
      log.Free(Layer::kLinear, kBase + 10 * kMiB);
      log.Free(Layer::kLinear, kBase);
    }
    DriverRefuses(log, 15 * kMiB, 4 * kMiB, 100 * kMiB, second);
    const FailureReport report = Load(log).last;
    ASSERT_EQ(report.larger_step.has_value(), last == 30) << last;
    if (last != 30) continue;
    EXPECT_EQ(report.larger_step->highest_before, 0u) << "earlier steps reached 35 MiB in total";
    EXPECT_EQ(report.larger_step->more, 20 * kMiB);
    EXPECT_NE(FailureVerdict(report).find("30.0 MiB are live in it, where the step before had "
                                          "10.0 MiB at the same call; 20.0 MiB more"),
              std::string::npos)
        << FailureVerdict(report);
  }
}

}  // namespace
}  // namespace memprof::analysis
