// Sections of the report, piece by piece: what they say when there is little to say.
#include "cli/sections.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/load/load.h"
#include "analysis/steps/figures.h"
#include "analysis/testing/log_builder.h"
#include "cli/sections_steps.h"
#include "tests/support/load_log.h"

namespace memprof::cli {
namespace {

using analysis::Layer;
using analysis::Op;
using analysis::testing::LoadLog;
using analysis::testing::LogBuilder;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Ledger(const LogBuilder& log) {
  const auto session = LoadLog(log);
  if (session == nullptr) return "no log";
  return LedgerText(*session, analysis::BuildReport(*session).devices);
}

std::string Recorder(const LogBuilder& log) {
  const auto session = LoadLog(log);
  if (session == nullptr) return "no log";
  return RecorderText(*session, analysis::BuildReport(*session).events);
}

TEST(SectionsTest, PercentIsShortAndHonest) {
  EXPECT_EQ(Percent(0, 8), "0 %");
  EXPECT_EQ(Percent(1, 3), "33 %");
  EXPECT_EQ(Percent(9.94, 100), "9.9 %");
  EXPECT_EQ(Percent(9.96, 100), "10 %");
  EXPECT_EQ(Percent(3, 2), "150 %");
  EXPECT_EQ(Percent(1, 0), "-");
  EXPECT_EQ(Percent(1, -1), "-");
}

TEST(SectionsTest, MoreLineOnlyWhereSomethingIsMissing) {
  EXPECT_EQ(MoreLine(3, 3), "");
  EXPECT_EQ(MoreLine(0, 0), "");
  EXPECT_THAT(MoreLine(10, 1200), HasSubstr("and 1,190 more (--top=0 for all)"));
}

TEST(SectionsTest, ALogWithoutDevicesHasNoLedger) {
  EXPECT_EQ(Ledger(LogBuilder()), "  No device was seen in this log.\n");
}

TEST(SectionsTest, WhatIsNothingAtBothInstantsIsLeftOut) {
  LogBuilder log;
  log.Device(0, 1000);
  log.Alloc(Layer::kLinear, 0x1000, 100);
  log.Event(Op::kMemoryInfo, Layer::kUnspecified, 0, 900, 0, {.aux0 = 1000});
  const std::string text = Ledger(log);
  EXPECT_THAT(text, HasSubstr("linear"));
  EXPECT_THAT(text, HasSubstr("untracked"));  // also where it is 0: that is the answer
  for (const char* absent : {"managed", "held by pools", "other processes", "not on the device"})
    EXPECT_THAT(text, Not(HasSubstr(absent)));
}

// The last step has no end of its own: what a program does behind its loop is no part of the
// others.
TEST(SectionsTest, TheLastStepGoesToTheEndOfTheRun) {
  for (const bool late : {false, true}) {
    LogBuilder log;
    log.Device(0, 1000);
    for (std::uint64_t step = 0; step < 6; ++step) {
      log.Step(step);
      log.Alloc(Layer::kLinear, 0x1000, 100);
      log.Free(0x1000);
    }
    if (late) log.AdvanceTime(1'000'000'000);
    log.Snapshot("done");
    const auto session = LoadLog(log);
    ASSERT_NE(session, nullptr);
    const std::vector<analysis::StepInfo> steps(session->steps().begin(), session->steps().end());
    const std::string text =
        StepsText(*session, steps, analysis::DescribeSteps(*session, steps), 0);
    EXPECT_EQ(text.find("0…4") != std::string::npos, late) << text;
    EXPECT_EQ(text.find("0…5") != std::string::npos, !late) << text;
    EXPECT_EQ(text.find("to the end of the run") != std::string::npos, late) << text;
  }
}

// Neither's time and steps are those of both.
TEST(SectionsTest, TwoRunsOneAfterTheOtherAreCalledTwo) {
  const analysis::testing::TempDirectory directory;
  std::vector<std::string> paths;
  for (const std::uint64_t run : {0, 1}) {
    LogBuilder log;
    const std::uint64_t start = 1'000'000 + run * 100'000'000;
    log.header().set_start_time_ns(start);
    log.header().set_start_unix_ns(1'000'000'000'000 + start);
    log.header().set_pid(static_cast<std::uint32_t>(7 + run));
    log.SetTime(start);
    log.Alloc(analysis::Layer::kLinear, 0x1000, 512);
    log.Step(0);
    paths.push_back(directory.Write(std::to_string(run) + ".mprof", log.Bytes()));
    const auto alone = analysis::LoadLogs({paths.back()}, {.find_steps = false});
    ASSERT_TRUE(alone.ok());
    EXPECT_THAT(RunLines(**alone), Not(HasSubstr("runs")));
  }
  const auto session = analysis::LoadLogs(paths, {.find_steps = false});
  ASSERT_TRUE(session.ok());
  const std::string lines = RunLines(**session);
  EXPECT_THAT(lines, HasSubstr("\n2 runs one after the other, 100 ms from first to last, "
                               "2 steps in all, 2 processes"));
  EXPECT_THAT(lines, HasSubstr("compare them with memprof diff"));
}

TEST(SectionsTest, AskedAndNobodyThereIsAnAnswer) {
  LogBuilder log;
  log.Device(0, 1000);
  log.Event(Op::kMemoryInfo, Layer::kUnspecified, 0, 900, 0, {.aux0 = 1000, .aux1 = 1});
  EXPECT_THAT(Ledger(log), HasSubstr("other processes"));
}

TEST(SectionsTest, WhereTheSampleLiesIsSaid) {
  const auto ledger = [](std::uint64_t sampled) {
    LogBuilder log;
    log.Device(0, 1000);
    log.SetTime(50'000);
    log.Event(Op::kSync, Layer::kUnspecified, 0, 0, 0, {});
    if (sampled < 100'000) {
      log.SetTime(sampled);
      log.Event(Op::kMemoryInfo, Layer::kUnspecified, 0, 900, 0, {.aux0 = 1000});
    }
    log.SetTime(100'000);
    log.Alloc(Layer::kLinear, 0x1000, 100);
    if (sampled >= 100'000) {
      log.SetTime(sampled);
      log.Event(Op::kMemoryInfo, Layer::kUnspecified, 0, 900, 0, {.aux0 = 1000});
    }
    return Ledger(log);
  };
  EXPECT_THAT(ledger(98'000), HasSubstr("the sample 2.00 us\n  earlier showed beyond that"));
  EXPECT_THAT(ledger(103'000), HasSubstr("the sample 3.00 us\n  later showed beyond that"));
  EXPECT_THAT(ledger(100'000), HasSubstr("Highest use was at the sample after 50.0 us"));
}

TEST(SectionsTest, TheRecorderTellsWhatItCostAndDropped) {
  LogBuilder log;
  log.Alloc(Layer::kLinear, 0x1000, 100);
  log.Count("events_lost", 1);
  log.Count("definitions_lost", 1234);
  EXPECT_THAT(Recorder(log), HasSubstr("Dropped: 1 event, 1,234 names or stacks"));
  EXPECT_THAT(Recorder(log), HasSubstr("Cost:    unknown"));
  log.self().set_writer_cpu_ns(5000);
  EXPECT_THAT(Recorder(log), HasSubstr("too few events to time the hooks, 5.00 us of CPU"));
  log.self().set_events(10);
  log.self().set_hook_time_ns(2000);
  EXPECT_THAT(Recorder(log), HasSubstr("2.00 us in the program's threads (200 ns per event,"));
  EXPECT_THAT(Recorder(log), HasSubstr("Sources: none named"));
}

}  // namespace
}  // namespace memprof::cli
