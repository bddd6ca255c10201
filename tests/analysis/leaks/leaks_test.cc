// What FindLeaks reports besides the verdict: figures, layers, reasons, and where it gives no
// verdict.
#include "analysis/leaks/leaks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "analysis/base/sizes.h"
#include "analysis/load/load.h"
#include "analysis/symbols/symbols.h"
#include "tests/analysis/leaks/leak_patterns.h"
#include "tests/support/random_log.h"
#include "tests/support/temp_file.h"

namespace memprof::analysis {
namespace {

using ::testing::HasSubstr;
using testing::LeakRun;
using testing::LoadLog;
using testing::LogBuilder;
using testing::MakeLeakRun;
using ::testing::StartsWith;
using testing::TempDirectory;

bool ListsSite(const std::vector<Leak>& leaks, Symbols& symbols, const std::string& function) {
  return std::any_of(leaks.begin(), leaks.end(), [&](const Leak& leak) {
    return symbols.Site(leak.stack).function == function;
  });
}

TEST(LeaksTest, ParametersAndOptimizerStateAreAliveAtExitOnly) {
  const auto session = MakeLeakRun(
      [](LeakRun& run, int step) {
        if (step >= 0) run.Alloc(kMiB);
      },
      1, 50);
  ASSERT_NE(session, nullptr);
  Symbols symbols(session);
  const LeakReport report = FindLeaks(*session);
  for (const char* site : {"Parameter", "AdamState"}) {
    EXPECT_TRUE(ListsSite(report.live_at_exit, symbols, site)) << site;
    EXPECT_FALSE(ListsSite(report.leaks, symbols, site)) << site;
  }
  EXPECT_FALSE(ListsSite(report.live_at_exit, symbols, "Pattern"));
  EXPECT_FALSE(ListsSite(report.live_at_exit, symbols, "Activation"));
  // Only blocks are judged, not their segments.
  for (const Leak& leak : report.live_at_exit) EXPECT_EQ(leak.layer, Layer::kBlock);
  EXPECT_THAT(report.live_at_exit[0].why, HasSubstr("warmed up"));
  EXPECT_THAT(report.live_at_exit[1].why, HasSubstr("before the first step"));
}

TEST(LeaksTest, SurvivorsStillInUseAreGrowing) {
  for (const bool use : {true, false}) {
    const auto session = MakeLeakRun(
        [use](LeakRun& run, int step) {
          if (step < 0) return;
          const std::uint64_t fresh = run.Alloc(kMiB);
          run.Launch();
          for (const auto& [address, bytes] : run.live()) {
            if (use || address == fresh) run.Touch(address + 16);
          }
        },
        1, 50);
    ASSERT_NE(session, nullptr);
    const LeakReport report = FindLeaks(*session);
    ASSERT_EQ(report.leaks.size(), 1u);
    EXPECT_EQ(report.leaks[0].tier, use ? LeakTier::kGrowing : LeakTier::kSuspected);
    EXPECT_THAT(report.leaks[0].why, HasSubstr(use ? "still used" : "No kernel, copy or memset"));
  }
}

TEST(LeaksTest, ShortRunsAndRunsWithoutStepsAreNotJudged) {
  const auto short_run = MakeLeakRun(
      [](LeakRun& run, int step) {
        if (step >= 0) run.Alloc(kMiB);
      },
      1, 8);
  ASSERT_NE(short_run, nullptr);
  LeakReport report = FindLeaks(*short_run);
  EXPECT_TRUE(report.leaks.empty());
  EXPECT_TRUE(report.horizon_too_short);
  EXPECT_THAT(report.verdict, HasSubstr("at least 10 are needed"));

  LogBuilder log;
  log.Alloc(Layer::kLinear, 0x1000, 10);
  const auto no_steps = LoadLog(log);
  ASSERT_NE(no_steps, nullptr);
  report = FindLeaks(*no_steps);
  EXPECT_TRUE(report.horizon_too_short);
  EXPECT_THAT(report.verdict, HasSubstr("No training steps were marked"));
  ASSERT_EQ(report.live_at_exit.size(), 1u);
  EXPECT_EQ(report.live_at_exit[0].bytes, 10u);
}

TEST(LeaksTest, LongLivedBlocksAskForALongerRun) {
  const auto session = MakeLeakRun(
      [](LeakRun& run, int step) {
        if (step < 0) return;
        const std::uint64_t address = run.Alloc(kMiB);
        if (step == 20) run.Free(run.live().begin()->first);  // this one was live for 20 steps
        (void)address;
      },
      1, 40);
  ASSERT_NE(session, nullptr);
  const LeakReport report = FindLeaks(*session);
  EXPECT_TRUE(report.leaks.empty());
  EXPECT_TRUE(report.horizon_too_short);
  EXPECT_THAT(report.verdict, HasSubstr("1 more site holds memory of several steps"));
  EXPECT_THAT(report.verdict, HasSubstr("Memory held on device 0 rises"));
  ASSERT_EQ(report.rising.size(), 1u) << "it is named";
  EXPECT_GT(report.rising[0].steps_needed, 40);
  EXPECT_GT(report.rising[0].bytes, 30 * kMiB);
  EXPECT_THAT(report.rising[0].why, HasSubstr("freed only 20 steps after their birth"));
  EXPECT_THAT(report.rising[0].why, HasSubstr("Record at least "));
}

TEST(LeaksTest, MarksOfSeveralThreadsAreOneStep) {
  LogBuilder log;
  const int site = log.Stack({"main (a.cc:1)", "Grow (a.cc:2)"});
  for (std::uint64_t step = 0; step < 30; ++step) {
    log.Step(step);
    log.Step(step);
    log.Alloc(Layer::kLinear, 0x100000 + step * 4096, 4096, {.stack = site});
  }
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  const LeakReport report = FindLeaks(*session);
  EXPECT_EQ(report.steps, 29);
  ASSERT_EQ(report.leaks.size(), 1u);
  EXPECT_DOUBLE_EQ(report.leaks[0].bytes_per_step, 4096);
}

// A new site in each step, with no common frames: no site is certain, but growth of the run is.
TEST(LeaksTest, NoGrowthIsNotSaidWhileWhatIsHeldRises) {
  LogBuilder log;
  for (int step = 0; step < 60; ++step) {
    log.Step(static_cast<std::uint64_t>(step));
    const std::string name = std::to_string(step);
    log.Alloc(Layer::kLinear, 0x10'0000'0000 + static_cast<std::uint64_t>(step) * kMiB, kMiB,
              {.stack = log.Stack({"Thread" + name + " (a.cc:1)", "F" + name + " (a.cc:2)"})});
  }
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  const LeakReport report = FindLeaks(*session);
  EXPECT_TRUE(report.leaks.empty());
  EXPECT_THAT(report.verdict, HasSubstr("Memory held on device 0 rises and does not fall again"));
  EXPECT_THAT(report.verdict, HasSubstr("by 1.00 MiB per step"));
  EXPECT_EQ(report.rising.size(), 3u);
}

// Streams that are made anew: each has a segment of its own, which nothing frees.
TEST(LeaksTest, NoGrowthIsNotSaidWhileTheReserveRises) {
  for (const int last : {60, 15}) {  // the step of the last new stream
    LogBuilder log;
    const int site = log.Stack({"main (a.cc:1)", "Sync (a.cc:2)"});
    std::uint64_t segment = 0x10'0000'0000;
    for (int step = 0; step < 60; ++step) {
      log.Step(static_cast<std::uint64_t>(step));
      if (step <= last) {
        segment += 2 * kMiB;
        log.Alloc(Layer::kLinear, segment, 2 * kMiB);
        log.Alloc(Layer::kSegment, segment, 2 * kMiB);
      }
      log.Alloc(Layer::kBlock, segment, kMiB, {.stack = site});
      log.Free(Layer::kBlock, segment);
    }
    const auto session = LoadLog(log);
    ASSERT_NE(session, nullptr);
    const LeakReport report = FindLeaks(*session);
    EXPECT_TRUE(report.leaks.empty());
    if (last < 60)
      EXPECT_EQ(report.verdict, "No growth over 59 completed steps.");
    else
      EXPECT_THAT(report.verdict,
                  StartsWith("No site grows, but what allocators reserve on device 0 rises and "
                             "does not fall again in 52 of the 52 steps judged, by 2.00 MiB per "
                             "step: "));
  }
}

// Two processes whose steps are not synchronous leak 8 KiB per step each. In one session both leaks
// are found.
TEST(LeaksTest, EachProcessIsJudgedByItsOwnSteps) {
  const TempDirectory directory;
  std::vector<std::string> paths;
  for (const int process : {0, 1}) {
    LogBuilder log;
    log.header().set_pid(static_cast<std::uint32_t>(100 + process));
    const int site = log.Stack({"main (a.cc:1)", "Grow (a.cc:2)"});
    for (std::uint64_t step = 0; step < 41; ++step) {
      log.Step(step);
      log.AdvanceTime(process == 0 ? 1000 : 3700);
      if (step < 40) log.Alloc(Layer::kLinear, 0x100000 + step * 8192, 8192, {.stack = site});
    }
    paths.push_back(directory.Write(std::to_string(process) + ".mprof", log.Bytes()));
  }
  const auto session = LoadLogs(paths, {.find_steps = false});
  ASSERT_TRUE(session.ok()) << session.status();
  const LeakReport report = FindLeaks(**session);
  ASSERT_EQ(report.leaks.size(), 2u) << report.verdict;
  std::set<std::uint32_t> processes;
  for (const Leak& leak : report.leaks) {
    EXPECT_DOUBLE_EQ(leak.bytes_per_step, 8192);
    EXPECT_EQ(leak.blocks, 40u);
    processes.insert(leak.process);
  }
  EXPECT_EQ(processes.size(), 2u);
  EXPECT_THAT(report.verdict, StartsWith("2 processes: 1 site keeps growing"));
}

TEST(LeaksTest, EqualVerdictsOfProcessesAreSaidOnce) {
  const TempDirectory directory;
  std::vector<std::string> paths;
  for (const int process : {0, 1, 2}) {
    LogBuilder log;
    log.header().set_pid(static_cast<std::uint32_t>(100 + process));
    const int site = log.Stack({"main (a.cc:1)", "Grow (a.cc:2)"});
    for (std::uint64_t step = 0; step < 41; ++step) {
      log.Step(step);
      log.Alloc(Layer::kLinear, 0x100000 + step * 8192, 8192, {.stack = site});
      if (process != 1) log.Free(0x100000 + step * 8192);
    }
    paths.push_back(directory.Write(std::to_string(process) + ".mprof", log.Bytes()));
  }
  const auto session = LoadLogs(paths, {.find_steps = false});
  ASSERT_TRUE(session.ok()) << session.status();
  const std::string verdict = FindLeaks(**session).verdict;
  EXPECT_THAT(verdict, StartsWith("Process 2: 1 site keeps growing"));
  EXPECT_THAT(verdict, HasSubstr(" 2 processes: No growth over 40 completed steps."));
}

}  // namespace
}  // namespace memprof::analysis
