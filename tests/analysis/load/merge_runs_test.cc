// Runs that follow one another, and the clocks that show their order.
#include <gtest/gtest.h>

#include <algorithm>

#include "analysis/leaks/clock.h"
#include "analysis/leaks/leaks.h"
#include "analysis/load/internal/merge_steps.h"
#include "analysis/peak/peak.h"
#include "analysis/peak/sites.h"
#include "analysis/report/report.h"
#include "tests/analysis/load/merge_fixture.h"
#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

using testing::Files;
using testing::kSecond;
using testing::LogBuilder;
using testing::Sessions;
using testing::SetRun;

TEST(SessionMergeTest, ClocksOfHostsAreAlignedByWallClock) {
  struct Case {
    std::string host;
    std::uint64_t zero, shift;
  };
  const std::uint64_t zero = 1'000'000'000 * kSecond;
  const std::vector<Case> cases = {{"early", zero, 0},
                                   {"early", zero + kSecond, 0},  // slewed
                                   {"other", zero + 2 * kSecond, 2 * kSecond},
                                   {"late", zero + 500 * kSecond, 500 * kSecond},  // booted later
                                   // the first host, after another boot
                                   {"early", zero + 3600 * kSecond, 3600 * kSecond}};
  Files files;
  std::uint32_t pid = 0;
  for (const Case& c : cases) {
    LogBuilder log;
    SetRun(log, c.host, ++pid, 10 * kSecond, c.zero);
    log.SetTime(11 * kSecond);
    log.Alloc(Layer::kLinear, 0x1000, pid);
    files.Add(log);
  }
  const auto session = files.Together();
  ASSERT_NE(session, nullptr);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    EXPECT_EQ(session->processes()[i].clock_shift_ns, cases[i].shift) << i;
    const Allocation a = session->allocation(AllocationId(static_cast<std::uint32_t>(i)));
    EXPECT_EQ(a.bytes, i + 1);
    EXPECT_EQ(a.birth_time, 11 * kSecond + cases[i].shift);
  }
  EXPECT_EQ(session->run().start_time, 10 * kSecond);
  EXPECT_EQ(session->run().end_time, 3611 * kSecond + 1000);  // from the trailer
}

TEST(SessionMergeTest, EventsOfSeveralHostsFollowInTheOrderOfAlignedClocks) {
  const std::uint64_t zero = 1'000'000'000 * kSecond;
  LogBuilder first, second;
  SetRun(first, "first", 1, 10 * kSecond, zero);
  first.SetTime(11 * kSecond);
  first.Alloc(Layer::kLinear, 0x1000, 1);
  first.SetTime(13 * kSecond);
  first.Alloc(Layer::kLinear, 0x2000, 2);
  SetRun(second, "second", 2, 10 * kSecond, zero + 2 * kSecond);
  second.SetTime(12 * kSecond);  // 14 s after zero of the first
  second.Alloc(Layer::kLinear, 0x1000, 3);
  Files files;
  for (const LogBuilder* log : {&first, &second}) files.Add(*log);
  const auto session = files.Together();
  ASSERT_NE(session, nullptr);
  std::vector<std::uint64_t> bytes;
  for (std::size_t i = 0; i < session->events().size(); ++i)
    if (session->events().op(i) == Op::kAlloc) bytes.push_back(session->events().bytes(i));
  EXPECT_EQ(bytes, (std::vector<std::uint64_t>{1, 2, 3}));
}

TEST(SessionMergeTest, ALogWithoutWallClockDoesNotHideThatOfOthers) {
  const std::uint64_t zero = 1'000'000'000 * kSecond;
  Files files;
  for (const std::uint64_t wall : {std::uint64_t{0}, zero + 20 * kSecond, zero + 15 * kSecond}) {
    LogBuilder log;
    SetRun(log, "node", static_cast<std::uint32_t>(wall / kSecond % 100 + 1), 10 * kSecond);
    log.header().set_start_unix_ns(wall);
    log.Alloc(Layer::kLinear, 0x1000, 512);
    files.Add(log);
  }
  EXPECT_EQ(files.Together()->run().start_unix_ns, zero + 15 * kSecond);
}

TEST(SessionMergeTest, LogsThatDoNotOverlapAreRunsOfTheirOwn) {
  const auto numbers = [](std::vector<RunSpan> logs) { return NumberRuns(logs); };
  EXPECT_EQ(numbers({{0, 10}, {5, 20}, {15, 30}}), (std::vector<std::uint32_t>{0, 0, 0}));
  EXPECT_EQ(numbers({{20, 30}, {0, 10}, {9, 12}}), (std::vector<std::uint32_t>{1, 0, 0}));
  EXPECT_EQ(numbers({{0, 100}, {5, 20}, {30, 40}}), (std::vector<std::uint32_t>{0, 0, 0}));
  EXPECT_EQ(numbers({{0, 1}, {2, 3}, {4, 5}}), (std::vector<std::uint32_t>{0, 1, 2}));
}

// Both runs have steps 0 to 3, one run after the other: each has the same steps as alone.
TEST(SessionMergeTest, StepsOfTwoRunsAreThoseOfEach) {
  Files files;
  for (const std::uint64_t p : {1, 0}) {  // the later one is named first
    LogBuilder log;
    SetRun(log, "node", static_cast<std::uint32_t>(100 + p), 1000 + p * 100'000);
    log.SetTime(1000 + p * 100'000);
    log.Alloc(Layer::kLinear, 0x1000, 512);
    for (std::uint64_t step = 0; step < 4; ++step) {
      log.AdvanceTime(1000);
      log.Step(step);
      log.Alloc(Layer::kLinear, 0x10000 * (step + 1), 512 * (p + 1));
    }
    files.Add(log);
  }
  const auto session = files.Together();
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(session->processes()[0].run_number, 1u);
  EXPECT_EQ(session->processes()[1].run_number, 0u);
  const Sessions alone = files.Alone();
  for (std::uint32_t p = 0; p < 2; ++p) {
    const auto steps = session->StepsOf(p), own = alone[p]->steps();
    ASSERT_EQ(steps.size(), 4u);
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(steps[i].number, own[i].number);
      EXPECT_EQ(steps[i].begin, own[i].begin);
      EXPECT_EQ(steps[i].end, own[i].end);
      EXPECT_EQ(session->StepAt(own[i].begin, p), own[i].number);
    }
    EXPECT_EQ(session->StepOriginOf(p).source, StepSource::kMarks);
  }
  std::vector<std::vector<std::int64_t>> births(2);
  for (const Allocation& a : session->allocations())
    births[session->ProcessOf(a.birth)].push_back(a.birth_step);
  EXPECT_EQ(births[0], (std::vector<std::int64_t>{-1, 0, 1, 2, 3}));
  EXPECT_EQ(births[1], (std::vector<std::int64_t>{-1, 0, 1, 2, 3}));
  EXPECT_EQ(session->steps().size(), 8u) << "one after the other";
}

// Three segments of a process that keeps 1 GiB and leaks, in the order of their names, and another
// process beside it.
TEST(SessionMergeTest, SegmentsOfOneProcessAreOneProcess) {
  constexpr std::uint64_t kBig = 1 << 30, kKept = 1 << 20, kSteps = 40;
  Files files;
  for (const std::uint64_t segment : {3, 1, 2, 0}) {  // 0: the other process
    LogBuilder log;
    log.Device(0, 8 * kBig);
    const std::uint64_t begin = 1'000'000 * std::max<std::uint64_t>(segment, 1);
    SetRun(log, "node", segment == 0 ? 7 : 100, begin);
    log.header().set_executable("/bin/serve");
    if (segment > 0) {
      log.header().mutable_always_on()->set_budget_bytes(1 << 20);
      log.header().mutable_always_on()->set_period_ns(1'000'000);
      log.header().mutable_always_on()->set_segment(static_cast<std::uint32_t>(segment));
    }
    log.SetTime(begin);
    const int stack = log.Stack({"main (serve.cc:1)", "Keep (serve.cc:2)"});
    log.Alloc(Layer::kLinear, 0x10000000, kBig, {.stack = log.Stack({"main (serve.cc:1)"})});
    const std::uint64_t before = segment == 0 ? 0 : (segment - 1) * kSteps;
    for (std::uint64_t i = 0; i < (segment == 0 ? kSteps : segment * kSteps); ++i) {
      if (i < before) {
        log.SetTime(begin);
      } else {
        log.AdvanceTime(1000);
        log.Step(i);
      }
      log.Alloc(Layer::kLinear, 0x1000000000 + kKept * i, kKept,
                {.stack = segment == 0 ? 0 : stack});
      if (segment == 0) log.Free(0x1000000000 + kKept * i);
    }
    files.Add(log);
  }
  const auto session = files.Together();
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(session->processes()[1].next_segment, 2u);
  EXPECT_EQ(session->processes()[2].next_segment, 0u);
  EXPECT_EQ(session->processes()[0].next_segment, EventId::kNone);
  EXPECT_EQ(session->processes()[3].next_segment, EventId::kNone);
  for (const ProcessInfo& process : session->processes()) EXPECT_EQ(process.run_number, 0u);
  const std::vector<Peak> peaks = FindPeaks(*session);
  ASSERT_EQ(peaks.size(), 1u);
  EXPECT_EQ(peaks[0].bytes, 2 * kBig + 3 * kSteps * kKept) << "of both processes, once";
  const LeakReport report = FindLeaks(*session);
  ASSERT_EQ(report.leaks.size(), 1u) << "the last segment speaks for all: " << report.verdict;
  EXPECT_EQ(report.leaks[0].bytes, 3 * kSteps * kKept);
  EXPECT_DOUBLE_EQ(report.leaks[0].bytes_per_step, 1.0 * kKept);
  std::uint64_t alive = 0;
  for (const Leak& leak : report.live_at_exit) alive += leak.bytes;
  EXPECT_EQ(alive, 2 * kBig);
  std::uint64_t allocated = 0, before = 0;
  for (const Site& site : FindSites(*session, {.metric = Metric::kAllocatedBytes}))
    allocated += site.bytes;
  EXPECT_EQ(allocated, 2 * kBig + 4 * kSteps * kKept) << "each block once, with the other's";
  const Report figures = BuildReport(*session);
  EXPECT_EQ(figures.events.allocations, 2 + 4 * kSteps);
  EXPECT_EQ(figures.before_attach_blocks, 0u) << "the first segment is here";
  for (const ProcessInfo& process : session->processes()) before += process.run.before_attach != 0;
  EXPECT_EQ(before, 2u);
}

TEST(SessionMergeTest, ASegmentHasNoStepsOfAnotherOne) {
  Files files;
  for (const std::uint32_t segment : {1u, 2u}) {
    LogBuilder log;
    SetRun(log, "node", 100, 1'000'000 * segment);
    log.header().mutable_always_on()->set_budget_bytes(1 << 20);
    log.header().mutable_always_on()->set_segment(segment);
    for (std::uint64_t step = 0; step < 6; ++step) {
      log.SetTime(1'000'000 * segment + 1000 * step);
      if (segment == 2) log.Step(step);
      log.Alloc(Layer::kLinear, 0x1000 * (step + 1), 256);
    }
    files.Add(log);
  }
  const auto session = files.Together();
  ASSERT_NE(session, nullptr);
  EXPECT_TRUE(session->StepsOf(0).empty());
  EXPECT_EQ(session->StepsOf(1).size(), 6u);
}

// Memory that a run holds at its end does not remain in the next run and is not a leak.
TEST(SessionMergeTest, WhatARunStillHeldIsGoneAsTheNextBegins) {
  Files files;
  constexpr std::uint64_t kKept = 1 << 20;
  for (std::uint64_t p = 0; p < 3; ++p) {  // the last two are ranks of one run
    LogBuilder log;
    log.Device(0, kSecond);
    SetRun(log, "node", static_cast<std::uint32_t>(100 + p), p == 0 ? 1000 : 10'000'000 + p);
    log.SetTime(p == 0 ? 1000 : 10'000'000 + p);
    const int stack = log.Stack({"main (train.cc:1)", "Keep (train.cc:2)"});
    for (std::uint64_t step = 0; step < 40; ++step) {
      log.AdvanceTime(1000);
      log.Step(step);
      log.Alloc(Layer::kLinear, 0x10000000 + kKept * step, kKept, {.stack = stack});
    }
    files.Add(log);
  }
  const auto session = files.Together();
  ASSERT_NE(session, nullptr);
  const std::vector<Peak> peaks = FindPeaks(*session);
  ASSERT_EQ(peaks.size(), 1u);
  EXPECT_EQ(peaks[0].bytes, 2 * 40 * kKept) << "the peak of the two ranks, not of the run before";
  std::size_t ended = 0;
  for (const AllocationRecord& a : session->records()) {
    ended += !a.alive();
    EXPECT_EQ(a.alive(), session->ProcessOf(a.birth) != 0);
    EXPECT_TRUE(AliveAtExit(*session, a));
  }
  EXPECT_EQ(ended, 40u);
  const LeakReport together = FindLeaks(*session);
  ASSERT_EQ(together.leaks.size(), 3u) << "each process leaks as it does alone";
  for (const auto& alone : files.Alone()) {
    const LeakReport own = FindLeaks(*alone);
    ASSERT_EQ(own.leaks.size(), 1u);
    for (const Leak& leak : together.leaks) {
      EXPECT_EQ(leak.bytes, own.leaks[0].bytes);
      EXPECT_EQ(leak.why, own.leaks[0].why);
      EXPECT_EQ(leak.bytes_per_step, own.leaks[0].bytes_per_step);
    }
  }
}

}  // namespace
}  // namespace memprof::analysis
