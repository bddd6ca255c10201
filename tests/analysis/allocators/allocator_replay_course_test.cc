// Intermediate results of replays: reserved bytes over time against the timeline, figures delivered
// one after another, progress, and cancellation.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <stop_token>

#include "analysis/allocators/allocator_replay.h"
#include "analysis/timeline/timeline.h"
#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

using allocators::AllocatorSpec;
using testing::LoadLog;
using testing::RandomLog;

std::uint64_t HighestOf(const std::vector<CurvePoint>& curve) {
  std::uint64_t most = 0;
  for (const CurvePoint& point : curve) most = std::max(most, point.bytes);
  return most;
}

std::shared_ptr<const Session> Random(std::uint32_t seed, int operations = 400) {
  RandomLog log({.seed = seed, .operations = operations});
  return LoadLog(log.builder());
}

ReplayOptions Watched() {
  ReplayOptions options;
  options.placement_seconds = 0;
  options.over_time = true;
  return options;
}

TEST(WhatIfCourseTest, RecordedBytesAreThoseOfTheTimeline) {
  for (std::uint32_t seed = 1; seed <= 6; ++seed) {
    const auto session = Random(seed);
    ASSERT_NE(session, nullptr);
    const std::vector<DeviceTimeline> timelines = BuildTimelines(*session);
    for (const DeviceReplay& replay : ReplayAllocators(*session, Watched())) {
      if (replay.source != allocators::RequestSource::kBlocks) continue;
      EXPECT_EQ(HighestOf(replay.recorded_reserved), replay.recorded.peak_reserved);
      const auto timeline =
          std::find_if(timelines.begin(), timelines.end(),
                       [&](const DeviceTimeline& t) { return t.device == replay.device; });
      ASSERT_NE(timeline, timelines.end());
      for (std::size_t e = 0; e < session->events().size(); ++e) {
        const TimeNs time = session->events().time(e);
        const std::vector<TimeNs> edges = {time, time + 1};
        EXPECT_EQ(MostInColumns(replay.recorded_reserved, edges).front(),
                  timeline->framework_reserved.Between(time, time + 1).max)
            << "seed " << seed << " event " << e;
      }
    }
  }
}

TEST(WhatIfCourseTest, EveryCourseReachesThePeakOfItsFigures) {
  for (std::uint32_t seed = 1; seed <= 4; ++seed) {
    const auto session = Random(seed);
    const TimeNs end = session->events().last_time();
    for (const DeviceReplay& replay : ReplayAllocators(*session, Watched())) {
      std::vector<const WhatIf*> all = {&replay.replayed};
      for (const WhatIf& other : replay.others) all.push_back(&other);
      for (const WhatIf* what : all) {
        EXPECT_TRUE(what->done);
        EXPECT_EQ(HighestOf(what->reserved), what->figures.peak_reserved)
            << allocators::SpecName(what->spec);
        EXPECT_EQ(what->reserved.back().bytes, what->figures.reserved);
        TimeNs last = session->events().first_time();
        for (const CurvePoint& point : what->reserved) {
          EXPECT_LE(last, point.time);
          last = point.time;
        }
        EXPECT_LE(last, end);
      }
    }
  }
}

TEST(WhatIfCourseTest, WatchingChangesNoFigure) {
  const auto session = Random(9);
  ReplayOptions plain;
  plain.placement_seconds = 0;
  const auto without = ReplayAllocators(*session, plain);
  const auto with = ReplayAllocators(*session, Watched());
  ASSERT_EQ(without.size(), with.size());
  for (std::size_t i = 0; i < with.size(); ++i) {
    EXPECT_TRUE(without[i].recorded_reserved.empty());
    EXPECT_TRUE(without[i].others.front().reserved.empty());
    EXPECT_EQ(without[i].residual, with[i].residual);
    ASSERT_EQ(without[i].others.size(), with[i].others.size());
    for (std::size_t k = 0; k < with[i].others.size(); ++k) {
      EXPECT_EQ(without[i].others[k].figures.peak_reserved,
                with[i].others[k].figures.peak_reserved);
      EXPECT_EQ(without[i].others[k].driver_calls, with[i].others[k].driver_calls);
    }
  }
}

TEST(WhatIfCourseTest, FiguresComeOneAfterTheOther) {
  const auto session = Random(3);
  ReplayOptions options = Watched();
  options.threads = 2;
  std::map<int, std::vector<std::size_t>> done;  // by device
  std::set<int> recorded;                        // devices of which the log's figures came
  options.so_far = [&](const DeviceReplay& replay) {
    std::size_t count = 0;
    if (!replay.replayed.done) {
      EXPECT_TRUE(recorded.insert(replay.device).second);
      EXPECT_GT(replay.recorded.peak_reserved, 0u);
      EXPECT_EQ(done.count(replay.device), 0u) << "before all others";
      return;
    }
    EXPECT_GT(replay.max_live, 0u);
    for (const WhatIf& other : replay.others) count += other.done;
    done[replay.device].push_back(count);
    EXPECT_EQ(replay.others.size(), UsualAllocators().size());
  };
  double last = -1;
  options.progress = [&](double share) {
    EXPECT_GT(share, last);
    EXPECT_LT(share, 1);
    last = share;
  };
  const auto replays = ReplayAllocators(*session, options);
  EXPECT_GT(last, 0.5);
  ASSERT_EQ(done.size(), replays.size());
  for (const DeviceReplay& replay : replays)
    EXPECT_EQ(recorded.count(replay.device),
              replay.source == allocators::RequestSource::kDriver ? 0u : 1u);
  for (const auto& [device, counts] : done) {
    ASSERT_EQ(counts.size(), UsualAllocators().size() + 1);
    for (std::size_t i = 0; i < counts.size(); ++i) EXPECT_EQ(counts[i], i);
  }
}

TEST(WhatIfCourseTest, StopsWhenAsked) {
  const auto session = Random(3);
  std::stop_source stop;
  ReplayOptions options = Watched();
  options.stop = stop.get_token();
  options.threads = 1;
  int told = 0;
  options.so_far = [&](const DeviceReplay&) {
    if (++told == 4) stop.request_stop();
  };
  const auto replays = ReplayAllocators(*session, options);
  EXPECT_EQ(told, 4);
  ASSERT_EQ(replays.size(), 1u) << "the second device is not started";
  std::size_t done = 0;
  for (const WhatIf& other : replays.front().others) done += other.done;
  EXPECT_EQ(done, 2u);
  EXPECT_TRUE(ReplayAllocators(*session, options).empty()) << "stopped before the start";
}

TEST(WhatIfCourseTest, ASimulationStopsWithinATick) {
  allocators::Trace trace;
  for (std::size_t i = 0; i < 3 * allocators::kReplayTick + 10; ++i) trace.Allocate(512);
  for (const int ticks : {1, 2, 100}) {
    allocators::Device device(allocators::kUnlimited);
    const auto allocator = allocators::MakeAllocator(AllocatorSpec(), &device);
    int told = 0;
    std::size_t events = 0;
    allocators::TraceReplayOptions options;
    options.tick = [&](std::size_t more) {
      events += more;
      return ++told < ticks;
    };
    allocators::Replay(trace, allocator.get(), &device, options);
    const std::size_t fed = std::min<std::size_t>(
        static_cast<std::size_t>(ticks) * allocators::kReplayTick, trace.events.size());
    EXPECT_EQ(allocator->figures().allocations, fed);
    EXPECT_EQ(events, fed);
  }
}

TEST(WhatIfCourseTest, NoArrangementIsSoughtForTooManyRequests) {
  const auto session = Random(3);
  ReplayOptions options;
  options.placement_seconds = 0.05;
  options.placement_requests = 1;
  for (const DeviceReplay& replay : ReplayAllocators(*session, options)) {
    EXPECT_TRUE(replay.placement.addresses.empty());
    EXPECT_GT(replay.max_live, 0u);
  }
  options.placement_requests = 1'000'000;
  for (const DeviceReplay& replay : ReplayAllocators(*session, options))
    EXPECT_GE(replay.placement.height, replay.max_live);
}

}  // namespace
}  // namespace memprof::analysis
