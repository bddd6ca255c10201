// Comparisons: hand-made alignments, and figures and sites of random logs against plain loops.
#include "analysis/diff/diff.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "analysis/base/sizes.h"
#include "analysis/peak/run_profile.h"
#include "tests/analysis/diff/diff_fixture.h"
#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

using testing::Diff;
using testing::Find;
using testing::LogBuilder;
using testing::Recorded;

// A log with `steps` steps. Each step allocates at these stacks and frees again, except at stacks
// for which `keeps` is true.
struct Program {
  std::vector<std::vector<std::string>> stacks;
  std::vector<std::uint64_t> bytes;
  std::set<std::size_t> keeps;
  int steps = 8;
  std::uint64_t base = 0x700000000000, tick = 1000;
};

Recorded Execute(const Program& program) {
  LogBuilder log;
  log.Device(0, std::uint64_t{1} << 30);
  std::vector<int> stacks;
  for (const auto& stack : program.stacks) stacks.push_back(log.Stack(stack));
  std::uint64_t next = program.base;
  for (int step = 0; step < program.steps; ++step) {
    log.AdvanceTime(program.tick);
    log.Step(static_cast<std::uint64_t>(step));
    std::vector<std::uint64_t> freed;
    for (std::size_t i = 0; i < stacks.size(); ++i) {
      log.Alloc(Layer::kLinear, next, program.bytes[i], {.stack = stacks[i]});
      if (!program.keeps.contains(i)) freed.push_back(next);
      next += 0x100000;
    }
    for (const std::uint64_t address : freed) log.Free(address);
  }
  return Recorded(log);
}

TEST(DiffTest, TheSameProgramElsewhereInMemoryAndTime) {
  Program program{{{"main (a.cc:1)", "F (a.cc:2)"}, {"main (a.cc:1)", "G (a.cc:3)"}},
                  {10 * kKiB, 20 * kKiB}};
  const Recorded a = Execute(program);
  program.base = 0x500000;
  program.tick = 777;
  std::swap(program.stacks[0], program.stacks[1]);
  std::swap(program.bytes[0], program.bytes[1]);
  const DiffReport report = Diff(a, Execute(program));
  EXPECT_TRUE(report.sites.empty());
  EXPECT_FALSE(report.first_difference);
  EXPECT_EQ(report.steps.size(), 8u);
  EXPECT_EQ(Find(report, DiffFigureKind::kPeak, 0)->change(), 0);
}

TEST(DiffTest, LinesThatMovedAlign) {
  Program program{{{"main (a.cc:1)", "F (a.cc:2)"}, {"main (a.cc:1)", "F (a.cc:8)"}},
                  {10 * kKiB, 20 * kKiB}};
  const Recorded a = Execute(program);
  // The same in the opposite order.
  program.stacks = {{"main (a.cc:5)", "F (a.cc:12)"}, {"main (a.cc:5)", "F (a.cc:6)"}};
  program.bytes = {50 * kKiB, 10 * kKiB};
  const DiffReport report = Diff(a, Execute(program));
  ASSERT_EQ(report.sites.size(), 1u);  // the first call of F is unchanged
  EXPECT_EQ(report.sites[0].before, 20 * kKiB);
  EXPECT_EQ(report.sites[0].after, 50 * kKiB);
  EXPECT_FALSE(report.sites[0].fresh || report.sites[0].gone);
  const AlignedPlace& place = report.alignment.places[report.sites[0].place];
  EXPECT_EQ(place.match, MatchKind::kFunctions);
  EXPECT_EQ(place.site.line, 12);
}

TEST(DiffTest, AFrameInBetweenIsFolded) {
  Program program{{{"main (a.cc:1)", "F (a.cc:2)"}}, {10 * kKiB}};
  const Recorded a = Execute(program);
  program.stacks = {{"main (a.cc:1)", "Wrapper (a.cc:9)", "F (a.cc:2)"}};
  program.bytes = {12 * kKiB};
  const DiffReport report = Diff(a, Execute(program));
  ASSERT_EQ(report.sites.size(), 1u);
  EXPECT_EQ(report.sites[0].before, 10 * kKiB);
  EXPECT_EQ(report.sites[0].after, 12 * kKiB);
  EXPECT_EQ(report.alignment.places[report.sites[0].place].match, MatchKind::kFolded);
}

TEST(DiffTest, NewAndGoneSites) {
  Program program{{{"main (a.cc:1)", "F (a.cc:2)"}, {"main (a.cc:1)", "Old (a.cc:3)"}},
                  {10 * kKiB, 20 * kKiB}};
  const Recorded a = Execute(program);
  program.stacks = {{"main (a.cc:1)", "F (a.cc:2)"},
                    {"main (a.cc:1)", "F (a.cc:2)", "New (b.cc:1)"}};
  program.bytes[1] = 5 * kKiB;
  const DiffReport report = Diff(a, Execute(program));
  ASSERT_NE(Find(report, "Old"), nullptr);
  EXPECT_TRUE(Find(report, "Old")->gone);
  ASSERT_NE(Find(report, "New"), nullptr);
  EXPECT_TRUE(Find(report, "New")->fresh);
  EXPECT_EQ(Find(report, "F"), nullptr);
}

TEST(DiffTest, SitesWithAnotherNameAreNotFolded) {
  Program program{{{"main (a.cc:1)", "Old (a.cc:2)"}}, {10 * kKiB}};
  const Recorded a = Execute(program);
  program.stacks = {{"main (a.cc:1)", "New (a.cc:2)"}};
  const DiffReport report = Diff(a, Execute(program));
  ASSERT_EQ(report.sites.size(), 2u);
  EXPECT_TRUE(Find(report, "Old")->gone);
  EXPECT_TRUE(Find(report, "New")->fresh);
}

TEST(DiffTest, GrowthOfLeaks) {
  Program program{{{"main (a.cc:1)", "F (a.cc:2)"}, {"main (a.cc:1)", "Keep (a.cc:3)"}},
                  {10 * kKiB, 2 * kKiB},
                  {},
                  40};
  const Recorded a = Execute(program);
  program.keeps = {1};
  const DiffReport report = Diff(a, Execute(program));
  const DiffFigure* growth = Find(report, DiffFigureKind::kGrowth);
  ASSERT_NE(growth, nullptr);
  EXPECT_EQ(growth->before, 0);
  EXPECT_NEAR(growth->after, 2 * kKiB, 1);
  ASSERT_NE(Find(report, "Keep"), nullptr);
  EXPECT_NEAR(Find(report, "Keep")->after_growth, 2 * kKiB, 1);
  // A site that only grows has no variation.
  EXPECT_FALSE(Find(report, "Keep")->within_variation());
  EXPECT_EQ(Find(report, "Keep")->variation, 0u);
}

TEST(DiffTest, WhatStepsOfOneRunDifferByIsNoChange) {
  const auto run = [](std::uint64_t last) {
    LogBuilder log;
    log.Device(0, 1 << 30);
    const int site = log.Stack({"main (a.cc:1)", "Batch (a.cc:2)"});
    for (std::uint64_t step = 0; step < 10; ++step) {
      log.Step(step);
      const std::uint64_t bytes = step == 9 ? kKiB : step == 5 ? last : (10 + step % 3) * kKiB;
      log.Alloc(Layer::kLinear, 0x1000000 * (step + 1), bytes, {.stack = site});
      log.Free(0x1000000 * (step + 1));
    }
    return Recorded(log);
  };
  const DiffReport small = Diff(run(13 * kKiB), run(14 * kKiB));
  ASSERT_EQ(small.sites.size(), 1u);
  EXPECT_TRUE(small.sites[0].within_variation());
  EXPECT_TRUE(Find(small, DiffFigureKind::kPeak, 0)->within_variation());
  EXPECT_FALSE(small.first_difference);
}

TEST(DiffTest, TheFirstStepThatDiffers) {
  const auto run = [](std::uint64_t from) {
    LogBuilder log;
    log.Device(0, 1 << 30);
    for (std::uint64_t step = 0; step < 10; ++step) {
      log.Step(step);
      log.Alloc(Layer::kLinear, 0x1000, (step >= from ? 8 : 1) * kKiB);
      log.Free(0x1000);
    }
    return Recorded(log);
  };
  const DiffReport report = Diff(run(99), run(0));
  ASSERT_TRUE(report.first_difference);
  EXPECT_EQ(report.steps[*report.first_difference].after, 0);
  EXPECT_EQ(report.steps[*report.first_difference].before_peak, kKiB);
  EXPECT_EQ(report.steps[*report.first_difference].after_peak, 8 * kKiB);
}

TEST(DiffTest, StepsWithoutCommonNumbersAlignByRank) {
  const auto run = [](std::uint64_t first) {
    LogBuilder log;
    log.Device(0, 1 << 30);
    for (std::uint64_t step = 0; step < 5; ++step) {
      log.Step(first + step);
      log.Alloc(Layer::kLinear, 0x1000, kKiB * (step + 1));
      log.Free(0x1000);
    }
    return Recorded(log);
  };
  const DiffReport report = Diff(run(0), run(100));
  ASSERT_EQ(report.steps.size(), 5u);
  EXPECT_EQ(report.steps[2].before, 2);
  EXPECT_EQ(report.steps[2].after, 102);
  EXPECT_EQ(report.steps[2].before_peak, report.steps[2].after_peak);
}

TEST(DiffTest, WhatWasBeforeTheFirstStepIsOfNoStep) {
  LogBuilder log;
  log.Device(0, 1 << 30);
  log.Alloc(Layer::kLinear, 0x1000, 100 * kKiB);
  log.Free(0x1000);
  for (std::uint64_t step = 0; step < 3; ++step) {
    log.Step(step);
    log.Alloc(Layer::kLinear, 0x1000, step == 2 ? 50 * kKiB : kKiB);
    log.Free(0x1000);
  }
  const Recorded run(log);
  const StackAlignment rows = AlignStacks(*run.session, *run.symbols, *run.session, *run.symbols);
  const RunProfile profile = ProfileRun(*run.session, rows.after, rows.places.size());
  ASSERT_EQ(profile.sites.size(), 1u);
  EXPECT_EQ(profile.sites[0].variation.bytes(), 0u);  // it only rose
  EXPECT_EQ(profile.steps[0].peak.at(0), kKiB);
}

TEST(DiffTest, LogsWithoutStepsOrAnything) {
  LogBuilder nothing, plain;
  plain.Alloc(Layer::kLinear, 0x1000, kKiB);
  const Recorded empty(nothing), some(plain);
  EXPECT_TRUE(Diff(empty, empty).sites.empty());
  const DiffReport report = Diff(empty, some);
  ASSERT_EQ(report.sites.size(), 1u);
  EXPECT_TRUE(report.sites[0].fresh);
  EXPECT_EQ(report.sites[0].after, kKiB);
  EXPECT_EQ(DiffMoments(*empty.session, *empty.symbols, EventId(), EventId()).sites.size(), 0u);
}

}  // namespace
}  // namespace memprof::analysis
