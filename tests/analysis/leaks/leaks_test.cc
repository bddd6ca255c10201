// What FindLeaks reports beyond the verdict: figures, layers, reasons, and honest silence.
#include "analysis/leaks/leaks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "analysis/base/sizes.h"
#include "analysis/leaks/forecast.h"
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
using testing::TempDirectory;

bool ListsSite(const std::vector<Leak>& leaks, Symbols& symbols, const std::string& function) {
  return std::any_of(leaks.begin(), leaks.end(), [&](const Leak& leak) {
    return symbols.Site(leak.stack).function == function;
  });
}

// 8 allocations of Lose() and one of Keep(), and a scan that found no pointer to 3 of the former.
std::shared_ptr<const Session> ScannedRun(bool steps, bool freed_later) {
  LogBuilder log;
  const int lose = log.Stack({"main (a.cc:1)", "Lose (a.cc:2)"});
  const int keep = log.Stack({"main (a.cc:1)", "Keep (a.cc:3)"});
  log.Alloc(Layer::kLinear, 0x100000, 4096, {.stack = keep});
  for (int i = 0; i < 8; ++i) {
    if (steps) log.Step(i);
    log.Alloc(Layer::kLinear, 0x200000 + i * 0x10000ull, 1024, {.stack = lose});
  }
  for (int i = 0; i < 3; ++i)
    log.Event(Op::kUnreachable, Layer::kLinear, 0x200000 + i * 0x10000ull, 1024, 0, {.aux0 = 2});
  log.Event(Op::kHostScan, Layer::kUnspecified, 0, 64 * kMiB, 0,
            {.device = -1, .aux0 = 9, .aux1 = 3});
  if (freed_later)
    for (int i = 0; i < 3; ++i) log.Free(0x200000 + i * 0x10000ull);
  return LoadLog(log);
}

TEST(LeaksTest, MemoryWithoutAPointerIsADefiniteLeakWithOrWithoutSteps) {
  for (const bool steps : {false, true}) {
    const auto session = ScannedRun(steps, false);
    ASSERT_NE(session, nullptr);
    const LeakReport report = FindLeaks(*session);
    ASSERT_EQ(report.leaks.size(), 1u);
    const Leak& leak = report.leaks[0];
    EXPECT_EQ(leak.tier, LeakTier::kDefinite);
    EXPECT_EQ(leak.basis, LeakBasis::kScan);
    EXPECT_EQ(leak.blocks, 8u);
    EXPECT_EQ(leak.score, 100);
    EXPECT_THAT(leak.why, HasSubstr("No pointer to 3 of its 8 allocations (3.00 KiB) was left in "
                                    "64.0 MiB of host memory"));
    EXPECT_THAT(leak.disproof, HasSubstr("where a scan of host memory cannot see it"));
    EXPECT_THAT(report.verdict, HasSubstr("1 site has lost all pointers"));
    ASSERT_EQ(report.live_at_exit.size(), 1u);
    EXPECT_EQ(report.live_at_exit[0].bytes, 4096u);
  }
}

TEST(LeaksTest, WhatIsFreedAfterTheScanIsNoLeak) {
  const auto session = ScannedRun(false, true);
  ASSERT_NE(session, nullptr);
  const LeakReport report = FindLeaks(*session);
  EXPECT_TRUE(report.leaks.empty());
  EXPECT_EQ(report.live_at_exit.size(), 2u);
}

TEST(LeaksTest, DefiniteLeaksCanBeSuppressed) {
  const auto session = ScannedRun(false, false);
  ASSERT_NE(session, nullptr);
  const LeakReport report = FindLeaks(
      *session, {.suppress = [](const Leak& leak) { return leak.tier == LeakTier::kDefinite; }});
  EXPECT_TRUE(report.leaks.empty());
  EXPECT_EQ(report.suppressed.size(), 1u);
}

TEST(LeaksTest, FiguresOfASteadyLeak) {
  const auto session = MakeLeakRun(
      [](LeakRun& run, int step) {
        if (step >= 0) run.Alloc(4 * kMiB);
      },
      1, 50);
  ASSERT_NE(session, nullptr);
  const LeakReport report = FindLeaks(*session);
  ASSERT_EQ(report.leaks.size(), 1u);
  const Leak& leak = report.leaks[0];
  EXPECT_EQ(leak.layer, Layer::kBlock);
  EXPECT_EQ(leak.device, 0);
  EXPECT_EQ(leak.bytes, 200 * kMiB);  // the last step's too: they are alive at the end
  EXPECT_EQ(leak.blocks, 50u);
  EXPECT_EQ(leak.survivors.size(), 50u);
  EXPECT_EQ(leak.first_step, 4);
  EXPECT_EQ(leak.guard_steps, 2);
  EXPECT_DOUBLE_EQ(leak.bytes_per_step, 4.0 * kMiB);
  EXPECT_EQ(session->allocation(leak.example).birth_step, 4);
  EXPECT_THAT(leak.why, HasSubstr("4.00 MiB per step"));
  EXPECT_THAT(leak.why, HasSubstr("None of its 49 allocations was freed"));
  EXPECT_THAT(leak.disproof, HasSubstr("record a longer run"));
  EXPECT_GT(leak.steps_to_oom, 0);
}

// A run that dies: each step keeps `kLeak` and needs `kWork` beside it, on a device of `kDevice`
// whose context takes `kContext`; the allocator takes segments of 16 MiB and never gives them back.
class DyingRun {
 public:
  static constexpr std::uint64_t kDevice = 1024 * kMiB, kContext = 100 * kMiB, kLeak = 8 * kMiB,
                                 kWork = 256 * kMiB, kSegment = 16 * kMiB;

  // `steps` whole steps and the begin of one more. How many of them it could do: room().
  explicit DyingRun(int steps, bool sampled = true) {
    log_.Device(0, kDevice);
    const int keep = log_.Stack({"main (a.py:1)", "Keep (a.py:2)"});
    const int work = log_.Stack({"main (a.py:1)", "Work (a.py:3)"});
    if (sampled)
      log_.Event(Op::kMemoryInfo, Layer::kUnspecified, 0, kDevice - kContext, 0, {.aux0 = kDevice});
    for (int step = 0; step <= steps; ++step) {
      log_.Step(static_cast<std::uint64_t>(step));
      if (step == steps) break;
      Take(kLeak, keep);
      const std::uint64_t address = Take(kWork, work);
      log_.Free(Layer::kBlock, address);
      used_ -= kWork;
    }
  }
  const LogBuilder& log() const { return log_; }
  // Steps that fit after `steps`, counted one by one.
  static int StepsLeft(int steps, std::uint64_t room) {
    int more = 0;
    while ((static_cast<std::uint64_t>(steps) + more + 1) * kLeak + kWork <= room) ++more;
    return more;
  }

 private:
  // Leaks lie one behind the other from the front, work behind what will leak.
  std::uint64_t Take(std::uint64_t bytes, int stack) {
    used_ += bytes;
    while (reserved_ < used_) {
      log_.Alloc(Layer::kLinear, kStart + reserved_, kSegment);
      log_.Alloc(Layer::kSegment, kStart + reserved_, kSegment);
      reserved_ += kSegment;
    }
    const std::uint64_t address = kStart + used_ - bytes;
    log_.Alloc(Layer::kBlock, address, bytes, {.stack = stack, .aux0 = bytes});
    return address;
  }

  static constexpr std::uint64_t kStart = 0x10'0000'0000;
  LogBuilder log_;
  std::uint64_t used_ = 0, reserved_ = 0;
};

TEST(LeaksTest, WhatAStepNeedsIsNoRoomForALeak) {
  for (const bool sampled : {true, false}) {
    const std::uint64_t room = DyingRun::kDevice - (sampled ? DyingRun::kContext : 0);
    const int all = DyingRun::StepsLeft(0, room);
    for (const int steps : {30, all / 2 + 10, all - 1, all}) {
      const auto session = LoadLog(DyingRun(steps, sampled).log());
      ASSERT_NE(session, nullptr);
      const LeakReport report = FindLeaks(*session);
      ASSERT_EQ(report.leaks.size(), 1u) << steps;
      EXPECT_NEAR(report.leaks[0].steps_to_oom, DyingRun::StepsLeft(steps, room), 1.01) << steps;
    }
  }
}

TEST(LeaksTest, TheForecastInWords) {
  EXPECT_EQ(StepsAhead(0), "in the next step");
  EXPECT_EQ(StepsAhead(0.9), "in the next step");
  EXPECT_EQ(StepsAhead(1.9), "in about 1 step");
  EXPECT_EQ(StepsAhead(14.2), "in about 14 steps");
  EXPECT_EQ(StepsAhead(1e30), "in about 9,000,000,000,000,000 steps");
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
  // Segments are not judged: their blocks are.
  for (const Leak& leak : report.live_at_exit) EXPECT_EQ(leak.layer, Layer::kBlock);
  EXPECT_THAT(report.live_at_exit[0].why, HasSubstr("warmed up"));
  EXPECT_THAT(report.live_at_exit[1].why, HasSubstr("before the first step"));
}

TEST(LeaksTest, WithoutAllocatorDriverMemoryIsJudged) {
  LogBuilder log;
  const int site = log.Stack({"main (a.cc:1)", "Grow (a.cc:2)"});
  for (int step = 0; step < 40; ++step) {
    log.Step(static_cast<std::uint64_t>(step));
    log.Alloc(Layer::kManaged, 0x100000 + static_cast<std::uint64_t>(step) * 4096, 4096,
              {.stack = site});
  }
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  const LeakReport report = FindLeaks(*session);
  ASSERT_EQ(report.leaks.size(), 1u);
  EXPECT_EQ(report.leaks[0].layer, Layer::kManaged);
  EXPECT_EQ(report.leaks[0].steps_to_oom, -1) << "the device's capacity is unknown";
}

TEST(LeaksTest, GrowingSegmentsOfAnAllocatorAreNotASecondLeak) {
  LogBuilder log;
  log.Device(0, std::uint64_t{1} << 40);
  const int driver = log.Stack({"main (a.cc:1)", "Segment (alloc.cc:2)"});
  const int block = log.Stack({"main (a.cc:1)", "Keep (a.cc:7)"});
  for (std::uint64_t step = 0; step < 40; ++step) {
    const std::uint64_t address = 0x1000000 + step * 0x1000000;
    log.Step(step);
    log.Alloc(Layer::kLinear, address, 2 * kMiB, {.stack = driver});
    log.Alloc(Layer::kSegment, address, 2 * kMiB, {.stack = driver});
    log.Alloc(Layer::kBlock, address, 2 * kMiB, {.stack = block});
  }
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  Symbols symbols(session);
  const LeakReport report = FindLeaks(*session);
  ASSERT_EQ(report.leaks.size(), 1u);
  EXPECT_EQ(symbols.Site(report.leaks[0].stack).function, "Keep");
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

TEST(LeaksTest, TensorNamesAreEvidence) {
  LogBuilder log;
  log.Device(0, std::uint64_t{1} << 40);
  const int site = log.Stack({"main (a.cc:1)", "Keep (a.cc:7)"});
  log.Alloc(Layer::kLinear, 0x1000000, 64 * kMiB);
  log.Alloc(Layer::kSegment, 0x1000000, 64 * kMiB);
  for (std::uint64_t step = 0; step < 30; ++step) {
    const std::uint64_t address = 0x1000000 + step * kMiB;
    log.Step(step);
    log.Alloc(Layer::kBlock, address, kMiB, {.stack = site});
    log.TensorCreate(address, kMiB, log.Tensor("loss_history", "float32", {512, 512}),
                     {.stack = site});
  }
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  EXPECT_THAT(FindLeaks(*session).leaks.at(0).why, HasSubstr("loss_history (float32 512 x 512)"));
  EXPECT_THAT(FindLeaks(*session, {.judge_tensors_as_names = false}).leaks.at(0).why,
              Not(HasSubstr("loss_history")));
}

TEST(LeaksTest, SitesThatLeakTogetherSayso) {
  LogBuilder log;
  const int a = log.Stack({"main (a.cc:1)", "A (a.cc:7)"}),
            b = log.Stack({"main (a.cc:1)", "B (a.cc:8)"});
  for (std::uint64_t step = 0; step < 40; ++step) {
    log.Step(step);
    log.Alloc(Layer::kLinear, 0x100000 + step * 8192, 4096, {.stack = a});
    log.Alloc(Layer::kLinear, 0x101000 + step * 8192, 512, {.stack = b});
  }
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  const LeakReport report = FindLeaks(*session);
  ASSERT_EQ(report.leaks.size(), 2u);
  EXPECT_GT(report.leaks[0].bytes_per_step, report.leaks[1].bytes_per_step);
  EXPECT_THAT(report.leaks[0].why, HasSubstr("1 other site leaks in the same steps"));
}

TEST(LeaksTest, WithoutStacksSizesTellSitesApart) {
  LogBuilder log;
  for (std::uint64_t step = 0; step < 40; ++step) {
    log.Step(step);
    log.Alloc(Layer::kLinear, 0x100000 + step * 8192, 4096);
    log.Alloc(Layer::kLinear, 0x900000, 777);
    log.Free(0x900000);
  }
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  const LeakReport report = FindLeaks(*session);
  ASSERT_EQ(report.leaks.size(), 1u);
  EXPECT_EQ(report.leaks[0].guard_steps, 2);
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
        if (step == 20) run.Free(run.live().begin()->first);  // one lived for 20 steps
        (void)address;
      },
      1, 40);
  ASSERT_NE(session, nullptr);
  const LeakReport report = FindLeaks(*session);
  EXPECT_TRUE(report.leaks.empty());
  EXPECT_TRUE(report.horizon_too_short);
  EXPECT_THAT(report.verdict, HasSubstr("1 more site holds memory of several steps"));
  EXPECT_THAT(report.verdict, HasSubstr("What is held on device 0 rises"));
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

// hist = torch.cat([hist, x]): no block is old.
TEST(LeaksTest, ATensorReplacedByALargerOneGrows) {
  for (const bool freed_on_exit : {false, true}) {
    const auto session = MakeLeakRun(
        [&](LeakRun& run, int step) {
          if (step < 0) return;
          run.Alloc(static_cast<std::uint64_t>(step + 1) * kMiB);
          if (run.live().size() > 1) run.Free(run.live().begin()->first);
          if (freed_on_exit && step == 59) run.Free(run.live().begin()->first);
        },
        1, 60);
    ASSERT_NE(session, nullptr);
    const LeakReport report = FindLeaks(*session);
    ASSERT_EQ(report.leaks.size(), 1u) << report.verdict;
    const Leak& leak = report.leaks[0];
    EXPECT_EQ(leak.tier, LeakTier::kGrowing);
    EXPECT_DOUBLE_EQ(leak.bytes_per_step, kMiB);
    EXPECT_THAT(leak.why, HasSubstr("each is replaced by a larger one"));
    EXPECT_THAT(report.verdict, HasSubstr("1 site keeps growing, by 1.00 MiB per step"));
  }
}

// Many sites leak little each: they have the line in common from which they are called, or, of
// wrappers around wrappers, all their lines.
TEST(LeaksTest, SitesOfOneLineAreSummedUp) {
  for (const bool deeper : {false, true}) {
    LogBuilder log;
    const int other = log.Stack({"main (a.py:1)", "Train (a.py:5)", "Step (a.py:30)"});
    for (int step = 0; step < 60; ++step) {
      log.Step(static_cast<std::uint64_t>(step));
      std::vector<std::string> way = {"main (a.py:1)", "Train (a.py:5)", "Grow (a.py:9)"};
      for (int i = 0; deeper && i <= step; ++i) way.push_back("wrapper (b.py:3)");
      if (!deeper) way.push_back("Layer" + std::to_string(step * 7 % 30) + " (lib.py:4)");
      for (std::uint64_t i = 0; i < 3; ++i) {
        log.Alloc(Layer::kBlock, 0x900000 + i * 4096, 4096, {.stack = other});
        log.Free(0x900000 + i * 4096);
      }
      log.Alloc(Layer::kBlock, 0x10'0000'0000 + static_cast<std::uint64_t>(step) * kMiB, kMiB,
                {.stack = log.Stack(way)});
    }
    const auto session = LoadLog(log);
    ASSERT_NE(session, nullptr);
    const LeakReport report = FindLeaks(*session);
    ASSERT_EQ(report.leaks.size(), 1u) << report.verdict;
    EXPECT_GE(report.leaks[0].blocks, 54u);  // all but what a site made while the run warmed up
    EXPECT_NEAR(report.leaks[0].bytes_per_step, kMiB, 1);
    EXPECT_THAT(report.leaks[0].why, HasSubstr("sites with callers in common"));
  }
}

// A new place in each step, that shares nothing with the others: no site is sure, but the run is.
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
  EXPECT_THAT(report.verdict, HasSubstr("What is held on device 0 rises for good"));
  EXPECT_THAT(report.verdict, HasSubstr("by 1.00 MiB per step"));
  EXPECT_EQ(report.rising.size(), 3u);
}

// Two processes whose steps do not go together leak 8 KiB a step each, and so they do side by side.
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
  EXPECT_THAT(report.verdict, HasSubstr("Process 101: 1 site keeps growing"));
}

// One handle is imported in every step and never closed: as steady as a leak, and none of ours.
TEST(LeaksTest, ImportedMemoryIsNeverALeakAndReportedOpen) {
  LogBuilder log;
  const int open = log.Stack({"main (a.cc:1)", "Open (a.cc:2)"});
  const int view = log.Stack({"main (a.cc:1)", "View (a.cc:3)"});
  for (std::uint64_t step = 0; step < 40; ++step) {
    log.Step(step);
    const std::uint64_t address = 0x100000 + step * 4096;
    log.Alloc(Layer::kImported, address, 4096, {.stack = open, .aux1 = 1});
    if (step % 4 != 0) log.Free(Layer::kImported, address);
  }
  log.Alloc(Layer::kImported, 0x900000, 64, {.stack = view, .aux1 = 5});
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  const LeakReport report = FindLeaks(*session);
  EXPECT_TRUE(report.leaks.empty());
  EXPECT_FALSE(report.horizon_too_short);
  ASSERT_EQ(report.live_at_exit.size(), 2u);
  const Leak& leak = report.live_at_exit[0];
  EXPECT_TRUE(leak.imported());
  EXPECT_EQ(leak.layer, Layer::kImported);
  EXPECT_EQ(leak.blocks, 10u);
  EXPECT_EQ(leak.bytes, 10u * 4096);
  EXPECT_EQ(leak.bytes_per_step, 0);
  EXPECT_THAT(leak.why, HasSubstr("Imported (IPC memory) and 10 of them never closed."));
  EXPECT_THAT(leak.why, HasSubstr("belongs to whoever made it"));
  EXPECT_THAT(report.live_at_exit[1].why,
              HasSubstr("(a view of external memory) and never closed. What it shows has been"));
}

// What is imported once is told once, however many buffers and arrays show it.
TEST(LeaksTest, WhatHasNoBytesIsNotAliveAtExitUnlessImported) {
  LogBuilder log;
  const int sparse = log.Stack({"main (a.cc:1)", "Sparse (a.cc:2)"});
  const int import = log.Stack({"main (a.cc:1)", "Import (a.cc:3)"});
  log.Alloc(Layer::kArray, 0x1000, 0, {.stack = sparse});
  log.Alloc(Layer::kImported, 0x2000, 0, {.stack = import, .aux1 = 2});
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  const LeakReport report = FindLeaks(*session);
  ASSERT_EQ(report.live_at_exit.size(), 1u);
  EXPECT_TRUE(report.live_at_exit[0].imported());
}

TEST(LeaksTest, AnImportIsListedOnceAndNotByItsViews) {
  LogBuilder log;
  const auto alive = [](const LogBuilder& of) {
    const auto session = LoadLog(of);
    std::vector<std::uint64_t> bytes;
    for (const Leak& leak : FindLeaks(*session).live_at_exit) bytes.push_back(leak.bytes);
    return bytes;
  };
  const int object = log.Stack({"Open (a.cc:1)"}), buffer = log.Stack({"Map (a.cc:2)"});
  const int array = log.Stack({"Array (a.cc:3)"}), own = log.Stack({"Own (a.cc:4)"});
  log.Alloc(Layer::kImported, 0x55, 5000, {.stack = object, .aux1 = 4});
  log.Alloc(Layer::kImported, 0x900000, 3000, {.stack = buffer, .aux0 = 0x55, .aux1 = 5});
  log.Alloc(Layer::kImported, 0x77, 1000, {.stack = array, .aux0 = 0x55, .aux1 = 8});
  EXPECT_EQ(alive(log), (std::vector<std::uint64_t>{5000}));
  log.Free(Layer::kImported, 0x55);
  EXPECT_EQ(alive(log), (std::vector<std::uint64_t>{3000, 1000})) << "left behind by the object";
  log.Free(Layer::kImported, 0x900000);
  log.Free(Layer::kArray, 0x77);
  EXPECT_TRUE(alive(log).empty());
  log.Alloc(Layer::kLinear, 0x500000, 640, {.stack = own});
  log.Alloc(Layer::kImported, 0x600000, 640, {.stack = buffer, .aux0 = 0x500000, .aux1 = 10});
  EXPECT_EQ(alive(log), (std::vector<std::uint64_t>{640})) << "own memory, opened again";
  log.Free(Layer::kLinear, 0x500000);
  EXPECT_EQ(alive(log), (std::vector<std::uint64_t>{640})) << "what is still open of it";
}

}  // namespace
}  // namespace memprof::analysis
