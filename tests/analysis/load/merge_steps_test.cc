// Steps of several logs combined in one session.
#include "analysis/load/internal/merge_steps.h"

#include <gtest/gtest.h>

#include "analysis/leaks/clock.h"
#include "analysis/load/internal/merge.h"
#include "analysis/load/load.h"
#include "analysis/peak/peak.h"
#include "tests/analysis/load/merge_fixture.h"

namespace memprof::analysis {
namespace {

using testing::Files;
using testing::LogBuilder;
using testing::SetRun;

TEST(SessionMergeTest, StepsBeginWithTheFirstRankAndNoneBeginsTwice) {
  Files files;
  for (std::uint32_t p = 0; p < 2; ++p) {
    LogBuilder log;
    SetRun(log, "node", 100 + p, 0);
    for (std::uint64_t step = 0; step < 4; ++step) {
      log.SetTime(1000 + step * 1000 + (p == 1 ? 1200 : 0));  // more than one step later
      log.Step(step);
    }
    files.Add(log);
  }
  const auto session = files.Together();
  ASSERT_NE(session, nullptr);
  std::vector<std::pair<std::int64_t, TimeNs>> steps;
  for (const StepInfo& step : session->steps()) steps.emplace_back(step.number, step.begin);
  EXPECT_EQ(steps, (std::vector<std::pair<std::int64_t, TimeNs>>{
                       {0, 1000}, {1, 2000}, {2, 3000}, {3, 4000}}));
}

// The other rank is two steps ahead at that time.
TEST(SessionMergeTest, APeakIsInAStepOfItsOwnRank) {
  Files files;
  for (std::uint32_t p = 0; p < 2; ++p) {
    LogBuilder log;
    SetRun(log, "node", 100 + p, 0);
    log.Device(static_cast<int>(p), 1 << 20);
    for (std::uint64_t step = 0; step < 4; ++step) {
      log.SetTime(1000 + step * 1000 + (p == 1 ? 2200 : 0));
      log.Step(step);
      if (step == 1)
        log.Alloc(Layer::kLinear, 0x1000, 4096, {.device = static_cast<std::int32_t>(p)});
    }
    files.Add(log);
  }
  const auto session = files.Together();
  ASSERT_NE(session, nullptr);
  const std::vector<Peak> peaks = FindPeaks(*session);
  ASSERT_EQ(peaks.size(), 2u);
  EXPECT_EQ(session->StepAt(peaks[1].time), 3);
  for (const Peak& peak : peaks) EXPECT_EQ(peak.step, 1) << peak.device;
}

FoundSteps Found(std::vector<TimeNs> begins, double confidence) {
  FoundSteps found{.origin = {StepSource::kPattern, confidence, 1, "because"}};
  for (std::size_t i = 0; i < begins.size(); ++i)
    found.steps.push_back({static_cast<std::int64_t>(i), begins[i], 0,
                           EventId(static_cast<std::uint32_t>(begins[i] / 10))});
  return found;
}

TEST(SessionMergeTest, FoundStepsBeginWithTheFirstOfTheRanksThatAgree) {
  const std::vector<RunSpan> logs(4, RunSpan{0, 1000});
  const std::vector<std::uint32_t> runs(4, 0);
  const MergedSteps all = MergeSteps(
      {Found({100, 210, 290}, 0.9), {}, Found({110, 200, 300}, 0.85), Found({10, 20}, 1)}, logs,
      runs);
  const FoundSteps& merged = all.job;
  ASSERT_EQ(merged.steps.size(), 3u);
  const TimeNs begins[] = {100, 200, 290}, ends[] = {200, 290, 1000};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(merged.steps[i].number, static_cast<std::int64_t>(i));
    EXPECT_EQ(merged.steps[i].begin, begins[i]);
    EXPECT_EQ(merged.steps[i].end, ends[i]);
    EXPECT_EQ(merged.steps[i].event.value, begins[i] / 10);
  }
  EXPECT_EQ(merged.origin.confidence, 0.85);
  EXPECT_EQ(merged.origin.why, "In 2 of the 4 logs, each by itself: because");
  ASSERT_EQ(all.of_log.size(), 4u);
  EXPECT_EQ(all.of_log[0].steps[1].begin, 210u) << "its own";
  EXPECT_EQ(all.of_log[0].origin.why, "because");
  EXPECT_EQ(all.of_log[1].steps[1].begin, 200u) << "it has no steps, and uses those of its run";
  EXPECT_EQ(all.of_log[3].steps.size(), 2u);
  const MergedSteps none = MergeSteps({{}, {}}, std::span(logs).first(2), std::span(runs).first(2));
  EXPECT_TRUE(none.job.steps.empty());
}

// A rank is always half a step late: its allocations belong to its own steps.
TEST(SessionMergeTest, StepsOfARankThatLagsAreItsOwn) {
  Files files;
  for (std::uint64_t p = 0; p < 2; ++p) {
    LogBuilder log;
    SetRun(log, "node", static_cast<std::uint32_t>(100 + p), 1);
    for (std::uint64_t step = 0; step < 4; ++step) {
      log.SetTime(1000 + step * 1000 + p * 500);
      log.Step(step);
      log.AdvanceTime(600);
      log.Alloc(Layer::kLinear, 0x10000 * (step + 1), step + 1);
    }
    files.Add(log);
  }
  const auto session = files.Together();
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(session->steps().size(), 4u);
  for (const Allocation& a : session->allocations())
    EXPECT_EQ(a.birth_step, static_cast<std::int64_t>(a.bytes) - 1);
}

TEST(SessionMergeTest, StepsAreFoundInEachLog) {
  Files files;
  for (std::uint32_t p = 0; p < 2; ++p) {
    LogBuilder log;
    SetRun(log, "node", 100 + p, 0);
    for (std::uint64_t i = 0; i < 5; ++i) {
      log.SetTime(1000 + i * 1000 + p * 100);
      log.Alloc(Layer::kLinear, 0x1000 * (i + 1), 512);
    }
    files.Add(log);
  }
  std::size_t asked = 0;
  const auto finder = [&](const Session& session) {  // every event begins a step
    FoundSteps found{.origin = {StepSource::kPattern, 1, 0, "so"}};
    asked += session.processes().size();
    for (std::uint32_t i = 0; i < session.events().size(); ++i)
      found.steps.push_back({i, session.events().time(i), 0, EventId(i)});
    return found;
  };
  std::vector<std::shared_ptr<const Session>> parts;
  for (const std::string& path : files.paths())
    parts.push_back(*LoadLogs({path}, {.find_steps = false}));
  const auto session = MergeSessions(parts, finder);
  EXPECT_EQ(asked, 2u) << "and not in all events together";
  ASSERT_EQ(session->steps().size(), 5u);
  EXPECT_EQ(session->step_origin().source, StepSource::kPattern);
  for (std::uint32_t i = 0; i < 5; ++i) {
    const StepInfo& step = session->steps()[i];
    EXPECT_EQ(step.begin, 1000u + i * 1000);
    EXPECT_EQ(session->events().time(step.event.value), step.begin);
    EXPECT_EQ(session->StepOf(EventId(2 * i + 1)), i) << "the other rank's event";
  }
}

}  // namespace
}  // namespace memprof::analysis
