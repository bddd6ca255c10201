// Fragmentation over time against the analysis of single instants, and holes against plain loops.
#include "analysis/fragmentation/series.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <tuple>

#include "analysis/base/sizes.h"
#include "analysis/fragmentation/fragmentation.h"
#include "analysis/testing/column.h"
#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

using testing::LoadLog;
using testing::LogBuilder;
using testing::RandomLog;
using testing::Times;

// The pool of `series` at `time`, from the analysis of one instant.
PoolState StateAt(const Session& session, const PoolSeries& series, TimeNs time) {
  PoolState state;
  for (const PoolFragmentation& pool : AnalyseFragmentation(session, series.device, time).pools) {
    if (pool.stream != series.stream || pool.private_pool != series.pool ||
        pool.small_blocks != series.small_blocks)
      continue;
    state.reserved = pool.reserved_bytes;
    state.allocated = pool.allocated_bytes;
    state.pinned = pool.pinned_bytes;
    state.largest_hole = pool.largest_hole;
    state.holes = pool.hole_count;
    state.rounding = pool.rounding_bytes;
    state.external = pool.external;
    state.sum_of_squares = pool.sum_of_squares;
  }
  return state;
}

bool Worse(const PoolState& a, const PoolState& b) {
  return std::tuple(a.pinned, a.free()) > std::tuple(b.pinned, b.free());
}

void ExpectSame(const PoolState& a, const PoolState& b) {
  EXPECT_EQ(a.reserved, b.reserved);
  EXPECT_EQ(a.allocated, b.allocated);
  EXPECT_EQ(a.pinned, b.pinned);
  EXPECT_EQ(a.largest_hole, b.largest_hole);
  EXPECT_EQ(a.holes, b.holes);
  EXPECT_EQ(a.rounding, b.rounding);
  EXPECT_DOUBLE_EQ(a.external, b.external);
  EXPECT_NEAR(a.sum_of_squares, b.sum_of_squares, 1e-12);
}

// Every point is the worst of all instants that it covers.
void ExpectMatchesInstants(const Session& session, std::size_t points) {
  const auto all = BuildFragmentationSeries(session, kNoDevice, points);
  const std::vector<TimeNs> times = Times(session.events());
  std::size_t segments = 0;
  for (const PoolSeries& series : all) {
    if (series.kind != PoolKind::kSegments) continue;
    ++segments;
    ASSERT_LE(series.points.size(), points);
    EXPECT_EQ(series.points.front().begin, times.front());
    EXPECT_EQ(series.points.back().end, times.back() + 1);
    PoolState worst;
    for (std::size_t i = 0; i < series.points.size(); ++i) {
      const FragmentationPoint& point = series.points[i];
      SCOPED_TRACE(i);
      if (i > 0) {
        EXPECT_EQ(point.begin, series.points[i - 1].end);
      }
      TimeNs when = point.begin;
      PoolState state = StateAt(session, series, point.begin);
      for (const TimeNs time : times) {
        if (time < point.begin || time >= point.end) continue;
        const PoolState now = StateAt(session, series, time);
        if (!Worse(now, state)) continue;
        state = now;
        when = time;
      }
      EXPECT_EQ(point.time, when);
      EXPECT_EQ(point.step, session.StepAt(when));
      ExpectSame(point.state, state);
      if (Worse(state, worst)) worst = state;
    }
    ExpectSame(series.worst.state, worst);
  }
  EXPECT_GT(segments, 0u);
}

TEST(FragmentationSeriesTest, EveryPointIsItsWorstInstant) {
  for (const std::uint32_t seed : {301u, 302u}) {
    SCOPED_TRACE(seed);
    RandomLog log({.seed = seed, .operations = 200});
    const auto session = LoadLog(log.builder());
    ASSERT_NE(session, nullptr);
    ExpectMatchesInstants(*session, 100);  // a point for each step
    ExpectMatchesInstants(*session, 4);    // several steps together
    ExpectMatchesInstants(*session, 1);
  }
}

TEST(FragmentationSeriesTest, EqualTimesWithoutSteps) {
  RandomLog log({.seed = 303, .operations = 150, .steps = 0});
  const auto session = LoadLog(log.builder());
  ASSERT_NE(session, nullptr);
  ExpectMatchesInstants(*session, 13);
  const auto all = BuildFragmentationSeries(*session, 0, 13);
  ASSERT_FALSE(all.empty());
  EXPECT_EQ(all[0].points.size(), 13u);
  for (const PoolSeries& series : all) EXPECT_EQ(series.device, 0);
}

// Blocks that overlap, extend beyond their segment, are duplicates or have no bytes, as in damaged
// logs.
TEST(FragmentationSeriesTest, DamagedLayoutsAreClippedLikeTheMap) {
  for (const std::uint32_t seed : {304u, 305u, 306u}) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    LogBuilder log;
    log.Device(0, 1 << 30);
    for (std::uint64_t s = 0; s < 2; ++s) {
      log.Alloc(Layer::kLinear, 0x700000000000 + s * 0x100000, 64 * kKiB);
      log.Alloc(Layer::kSegment, 0x700000000000 + s * 0x100000, 64 * kKiB);
    }
    std::vector<std::uint64_t> live;
    for (int i = 0; i < 60; ++i) {
      if (i % 20 == 0) log.Step(static_cast<std::uint64_t>(i / 20));
      if (!live.empty() && random() % 3 == 0) {
        const std::size_t k = random() % live.size();
        log.Free(Layer::kBlock, live[k]);
        live.erase(live.begin() + static_cast<std::ptrdiff_t>(k));
        continue;
      }
      const std::uint64_t bytes = random() % 5 * 4 * kKiB;
      const std::uint64_t room = 64 * kKiB - bytes;
      const std::uint64_t address =
          0x700000000000 + random() % 2 * 0x100000 + random() % (room / kKiB + 1) * kKiB;
      log.Alloc(Layer::kBlock, address, bytes, {.aux0 = bytes});
      live.push_back(address);
    }
    log.Free(Layer::kSegment, 0x700000100000);
    const auto session = LoadLog(log);
    ASSERT_NE(session, nullptr);
    // In an empty segment the analysis of an instant counts pieces instead of blocks, so only
    // values that both have are compared.
    const auto all = BuildFragmentationSeries(*session, kNoDevice, 100);
    ASSERT_EQ(all.size(), 1u);
    for (const FragmentationPoint& point : all[0].points) {
      const PoolState state = StateAt(*session, all[0], point.time);
      EXPECT_EQ(point.state.reserved, state.reserved);
      EXPECT_EQ(point.state.allocated, state.allocated);
      EXPECT_EQ(point.state.largest_hole, state.largest_hole);
      EXPECT_EQ(point.state.holes, state.holes);
    }
  }
}

TEST(FragmentationSeriesTest, BlocksCarvedFromDriverMemory) {
  LogBuilder log;
  log.Device(0, 1 << 30);
  log.Alloc(Layer::kLinear, 0x900000, 4096 * kKiB);
  log.Alloc(Layer::kSegment, 0x900000, 4096 * kKiB);
  log.Alloc(Layer::kLinear, 0x10000, 16 * kKiB);
  log.Alloc(Layer::kBlock, 0x10000, 4 * kKiB);
  log.Alloc(Layer::kBlock, 0x12000, 4 * kKiB);
  log.Free(Layer::kBlock, 0x10000);
  log.Free(Layer::kBlock, 0x12000);
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  ExpectMatchesInstants(*session, 10);
}

TEST(FragmentationSeriesTest, StreamOrderedPools) {
  LogBuilder log;
  log.Device(0, 1 << 30);
  log.Alloc(Layer::kStreamOrdered, 0x10000, 4 * kKiB, {.aux0 = 0xbeef});
  log.Event(Op::kPoolSample, Layer::kUnspecified, 0xbeef, 32 * kKiB, 0, {.aux0 = 4 * kKiB});
  log.Alloc(Layer::kStreamOrdered, 0x20000, 8 * kKiB, {.aux0 = 0xbeef});
  log.Step(0);
  log.Event(Op::kPoolSample, Layer::kUnspecified, 0xbeef, 16 * kKiB, 0, {.aux0 = 12 * kKiB});
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  const auto all = BuildFragmentationSeries(*session, kNoDevice, 10);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].kind, PoolKind::kStreamOrdered);
  EXPECT_EQ(all[0].pool, 0xbeefu);
  ASSERT_EQ(all[0].points.size(), 2u);
  EXPECT_EQ(all[0].points[0].state.pinned, 28 * kKiB);
  EXPECT_EQ(all[0].points[0].state.reserved, 32 * kKiB);
  // At the begin of step 0, 20 KiB are free; the sample in the step has 4 KiB.
  EXPECT_EQ(all[0].points[1].state.pinned, 20 * kKiB);
  EXPECT_EQ(all[0].worst.time, all[0].points[0].time);
}

// With very many pools, each pool has fewer points.
TEST(FragmentationSeriesTest, AllPoolsTogetherHaveALimitedNumberOfPoints) {
  constexpr std::size_t kAsked = 200;
  for (const std::uint64_t pools : {10, 3000}) {
    LogBuilder log;
    log.Device(0, 1 << 30);
    for (std::uint64_t i = 0; i < 6000; ++i)
      log.Alloc(Layer::kStreamOrdered, 0x10000 * (i + 1), 4 * kKiB, {.aux0 = 1 + i % pools});
    const auto session = LoadLog(log);
    ASSERT_NE(session, nullptr);
    const auto all = BuildFragmentationSeries(*session, 0, kAsked);
    ASSERT_EQ(all.size(), pools);
    std::size_t most = 0;
    for (const PoolSeries& series : all) most = std::max(most, series.points.size());
    EXPECT_EQ(most, std::min<std::size_t>(kAsked, (1 << 18) / pools)) << pools;
  }
}

TEST(FragmentationSeriesTest, AFullSegmentIsHeldAsAPointBegins) {
  LogBuilder log;
  log.Device(0, 1 << 30);
  log.SetTime(1000);
  log.Alloc(Layer::kLinear, 0x10000, 4 * kKiB);
  log.SetTime(2000);
  log.Step(0);
  log.SetTime(2000);
  log.Alloc(Layer::kSegment, 0x10000, 4 * kKiB);
  log.SetTime(2000);
  log.Alloc(Layer::kBlock, 0x10000, 4 * kKiB);
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  const auto all = BuildFragmentationSeries(*session, 0, 10);
  ASSERT_EQ(all.size(), 1u);
  ASSERT_EQ(all[0].points.size(), 2u);
  EXPECT_EQ(all[0].points[1].state.reserved, 4 * kKiB);
  EXPECT_EQ(all[0].points[1].state.pinned, 0u);
}

TEST(FragmentationSeriesTest, NothingToReport) {
  LogBuilder empty, raw;
  raw.Alloc(Layer::kLinear, 0x1000, 4096);
  for (const LogBuilder* log : {&empty, &raw}) {
    const auto session = LoadLog(*log);
    ASSERT_NE(session, nullptr);
    EXPECT_TRUE(BuildFragmentationSeries(*session, kNoDevice, 10).empty());
  }
}

}  // namespace
}  // namespace memprof::analysis
