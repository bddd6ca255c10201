// Pools over time, change by change, against the analysis of single instants; and step functions
// with reduced resolution.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "analysis/fragmentation/fragmentation.h"
#include "analysis/fragmentation/series.h"
#include "analysis/testing/column.h"
#include "analysis/timeline/thinned_series.h"
#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

using testing::LoadLog;
using testing::LogBuilder;
using testing::RandomLog;
using testing::Times;

const PoolFragmentation* Find(const std::vector<PoolFragmentation>& pools, const PoolSeries& pool) {
  for (const PoolFragmentation& one : pools)
    if (one.stream == pool.stream && one.small_blocks == pool.small_blocks) return &one;
  return nullptr;
}

// At every instant with an event, each curve equals the analysis of that instant.
TEST(PoolTimelines, AreWhatEachInstantShows) {
  for (std::uint32_t seed = 1; seed <= 4; ++seed) {
    RandomLog log({.seed = seed, .operations = 160});
    const auto session = LoadLog(log.builder());
    ASSERT_NE(session, nullptr);
    const std::vector<PoolTimeline> all = BuildPoolTimelines(*session, 20, 100'000);
    ASSERT_FALSE(all.empty());
    for (const PoolTimeline& pool : all) {
      EXPECT_EQ(pool.stride, 1u);
      if (pool.pool.kind != PoolKind::kSegments) continue;
      for (const TimeNs time : Times(session->events())) {
        const auto pools = FragmentationAt(*session, pool.pool.device, time);
        const PoolFragmentation* at = Find(pools, pool.pool);
        const PoolFragmentation expected = at == nullptr ? PoolFragmentation() : *at;
        ASSERT_EQ(pool.reserved.At(time), expected.reserved_bytes) << seed << " at " << time;
        ASSERT_EQ(pool.allocated.At(time), expected.allocated_bytes);
        ASSERT_EQ(pool.pinned.At(time), expected.pinned_bytes);
        ASSERT_EQ(pool.largest_hole.At(time), expected.largest_hole);
        const double share = expected.reserved_bytes == 0
                                 ? 0
                                 : static_cast<double>(expected.pinned_bytes) /
                                       static_cast<double>(expected.reserved_bytes);
        ASSERT_NEAR(static_cast<double>(pool.share.At(time)), share * 1e6, 1);
      }
    }
  }
}

TEST(PoolTimelines, HaveThePoolsAndPointsOfTheSeries) {
  RandomLog log({.seed = 9});
  const auto session = LoadLog(log.builder());
  const auto series = BuildFragmentationSeries(*session, kNoDevice, 15);
  const auto timelines = BuildPoolTimelines(*session, 15, 8);
  ASSERT_EQ(series.size(), timelines.size());
  for (std::size_t i = 0; i < series.size(); ++i) {
    const PoolSeries& pool = timelines[i].pool;
    EXPECT_EQ(pool.kind, series[i].kind);
    EXPECT_EQ(pool.device, series[i].device);
    EXPECT_EQ(pool.small_blocks, series[i].small_blocks);
    EXPECT_EQ(pool.points.size(), series[i].points.size());
    EXPECT_EQ(pool.worst.time, series[i].worst.time);
    EXPECT_EQ(pool.worst.state.pinned, series[i].worst.state.pinned);
    // Reducing the resolution keeps the maximum of a curve.
    EXPECT_EQ(timelines[i].pinned.max(), series[i].worst.state.pinned);
    EXPECT_LE(timelines[i].pinned.times().size(), 4u * 8u);
  }
}

TEST(PoolTimelines, EndEarlyWithoutAReceiver) {
  RandomLog log({.seed = 3});
  const auto session = LoadLog(log.builder());
  double last = -1;
  EXPECT_FALSE(BuildPoolTimelines(*session, 10, 100, [&](double share) {
                 last = share;
                 return true;
               }).empty());
  EXPECT_GE(last, 0);
  EXPECT_TRUE(BuildPoolTimelines(*session, 10, 100, [](double) { return false; }).empty());
}

TEST(PoolTimelines, AreNoneOfALogWithoutPools) {
  LogBuilder log;
  log.Device(0, 1 << 30);
  log.Alloc(Layer::kLinear, 0x1000, 4096);
  const auto session = LoadLog(log);
  EXPECT_TRUE(BuildPoolTimelines(*session, 10, 100).empty());
  EXPECT_TRUE(FragmentationAt(*session, 0, kForever - 1).empty());
}

TEST(FragmentationAt, IsThatPartOfTheWholeReport) {
  RandomLog log({.seed = 5});
  const auto session = LoadLog(log.builder());
  const TimeNs time = session->events().time(session->events().size() / 2);
  for (const int device : {0, 1}) {
    const auto whole = AnalyseFragmentation(*session, device, time).pools;
    const auto part = FragmentationAt(*session, device, time);
    ASSERT_EQ(part.size(), whole.size());
    for (std::size_t i = 0; i < part.size(); ++i) {
      EXPECT_EQ(part[i].free_bytes, whole[i].free_bytes);
      EXPECT_EQ(part[i].unusable_bytes, whole[i].unusable_bytes);
      EXPECT_EQ(part[i].pins.size(), whole[i].pins.size());
    }
  }
}

struct Step {
  TimeNs time;
  std::uint64_t value;
};

Series Thin(const std::vector<Step>& steps, std::size_t groups, std::uint64_t* stride) {
  ThinnedSeries series(groups);
  for (const Step& step : steps) series.Add(step.time, step.value);
  *stride = series.stride();
  return series.Finish();
}

std::vector<Step> RandomSteps(std::uint32_t seed, int count) {
  std::mt19937_64 random(seed);
  std::vector<Step> steps;
  TimeNs time = 10;
  for (int i = 0; i < count; ++i) {
    time += random() % 4;  // often at the same time
    steps.push_back({time, random() % 1000});
  }
  return steps;
}

std::uint64_t PlainAt(const std::vector<Step>& steps, TimeNs time) {
  std::uint64_t value = 0;
  for (const Step& step : steps)
    if (step.time <= time) value = step.value;
  return value;
}

TEST(ThinnedSeries, KeepsWhatFits) {
  const std::vector<Step> steps = RandomSteps(1, 300);
  std::uint64_t stride = 0;
  const Series series = Thin(steps, 300, &stride);
  EXPECT_EQ(stride, 1u);
  for (TimeNs time = 0; time < steps.back().time + 3; ++time)
    ASSERT_EQ(series.At(time), PlainAt(steps, time)) << time;
}

TEST(ThinnedSeries, LosesNoExtremeNorTheEnd) {
  for (std::uint32_t seed = 1; seed <= 8; ++seed) {
    const std::vector<Step> steps = RandomSteps(seed, 2000);
    // Only the last value at each time counts.
    std::uint64_t low = ~std::uint64_t{0}, high = 0;
    TimeNs first_high = 0;
    for (const Step& step : steps) {
      const std::uint64_t value = PlainAt(steps, step.time);
      low = std::min(low, value);
      if (value > high) {
        high = value;
        first_high = step.time;
      }
    }
    for (const std::size_t groups : {2u, 3u, 7u, 64u}) {
      std::uint64_t stride = 0;
      const Series series = Thin(steps, groups, &stride);
      EXPECT_GT(stride, 1u);
      EXPECT_LE(series.times().size(), 4 * groups);
      EXPECT_EQ(series.max(), high);
      EXPECT_EQ(series.time_of_max(), first_high);
      EXPECT_EQ(series.Between(steps.front().time, steps.back().time + 1).min, low);
      EXPECT_EQ(series.At(kForever - 1), steps.back().value);
      EXPECT_TRUE(std::is_sorted(series.times().begin(), series.times().end()));
    }
  }
}

TEST(ThinnedSeries, OfNothingIsEmpty) {
  ThinnedSeries series(4);
  EXPECT_TRUE(series.Finish().empty());
}

}  // namespace
}  // namespace memprof::analysis
