// Stacked curves by pixel columns.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "analysis/filter/timeline_groups.h"
#include "analysis/timeline/timeline.h"
#include "tests/analysis/filter/timeline_groups_fixture.h"
#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

using testing::Line;
using testing::Loaded;
using testing::LogBuilder;
using testing::RandomLog;

// A step function with a value after each event, as the reference for stacks.
struct Curve {
  std::vector<TimeNs> times;
  std::vector<std::uint64_t> values;
  Series Make() const { return Series(times, values); }
};

// The upper edges of the bands after every event, as the reference for columns.
std::vector<Curve> EdgeCurves(const TimelineStack& stack) {
  std::vector<Curve> curves(stack.bands().size());
  const EventTable& events = stack.session()->events();
  for (std::uint32_t e = 0; e < events.size(); ++e) {
    if (e + 1 < events.size() && events.time(e) == events.time(e + 1)) continue;
    std::uint64_t sum = 0;
    const std::vector<std::uint64_t> bytes = stack.BytesAt(events.time(e));
    for (std::size_t b = 0; b < curves.size(); ++b) {
      sum += bytes[b];
      curves[b].times.push_back(events.time(e));
      curves[b].values.push_back(sum);
    }
  }
  return curves;
}

TEST(TimelineGroupsTest, ColumnsHaveEveryLeastAndMost) {
  RandomLog random({.seed = 11, .operations = 3000});  // dozens of blocks
  const Loaded log(random.builder());
  ASSERT_NE(log.session, nullptr);
  std::mt19937_64 twister(5);
  const TimeNs begin = log.session->events().first_time(), end = log.session->events().last_time();
  for (const TimelineGrouping grouping : {TimelineGrouping::kKind, TimelineGrouping::kSite}) {
    const TimelineStack* kinds = log.KindsOf(0);
    ASSERT_NE(kinds, nullptr);
    const TimelineStack stack(*kinds, FindGroups(*kinds, log.Query(grouping, true)));
    ASSERT_GE(stack.bands().size(), 4u);
    const std::vector<Curve> curves = EdgeCurves(stack);
    std::vector<Series> series;
    for (const Curve& curve : curves) series.push_back(curve.Make());
    for (int round = 0; round < 40; ++round) {
      // Ascending times, some equal, also outside of the log; narrow and wide columns.
      std::vector<TimeNs> times;
      const TimeNs span = round % 2 == 0 ? end - begin : (end - begin) / 50;
      const TimeNs from = begin - 2000 + twister() % (end - begin);
      for (int i = 0; i < 30; ++i) times.push_back(from + twister() % (span + 3000));
      times.push_back(times.back());
      std::sort(times.begin(), times.end());
      const TimelineStack::Columns columns = stack.Edges(times);
      for (std::size_t b = 0; b < series.size(); ++b) {
        for (std::size_t i = 0; i + 1 < times.size(); ++i) {
          const Series::Sample sample = series[b].Between(times[i], times[i + 1]);
          ASSERT_EQ(columns.low[b][i], sample.min) << "band " << b << " column " << i;
          ASSERT_EQ(columns.high[b][i], sample.max) << "band " << b << " column " << i;
        }
      }
    }
  }
}

TEST(TimelineGroupsTest, SlackMovesColumnsALittleAndLosesNothing) {
  RandomLog random({.seed = 15, .operations = 30000});
  const Loaded log(random.builder());
  const TimelineStack* stack = log.KindsOf(0);
  ASSERT_NE(stack, nullptr);
  const TimeNs begin = log.session->events().first_time(), end = log.session->events().last_time();
  constexpr TimeNs kColumns = 12;  // thousands of events each
  const TimeNs width = (end + 1 - begin) / kColumns, most = width / 16 + 1;
  std::vector<TimeNs> times;
  for (TimeNs i = 0; i < kColumns; ++i) times.push_back(begin + width * i);
  times.push_back(end + 1);
  const TimelineStack::Columns columns = stack->Edges(times, 1.0 / 16);
  const std::size_t top = stack->bands().size() - 1;
  std::uint64_t highest = 0;
  for (std::size_t i = 0; i < kColumns; ++i) {
    const auto within = [&](TimeNs from, TimeNs to) {
      return stack->Between(Line::kTop, std::max(from, begin), std::min(to, end + 1));
    };
    const Series::Sample outer = within(times[i] - most, times[i + 1]),
                         inner = within(times[i], times[i + 1] - most);
    EXPECT_GE(columns.low[top][i], outer.min);
    EXPECT_LE(columns.low[top][i], inner.min);
    EXPECT_LE(columns.high[top][i], outer.max);
    EXPECT_GE(columns.high[top][i], inner.max);
    highest = std::max(highest, columns.high[top][i]);
  }
  EXPECT_EQ(highest, stack->Max(Line::kTop)) << "the peak is in some column";
}

TEST(TimelineGroupsTest, ColumnsOfBandsAreTheirOwnBytes) {
  RandomLog random({.seed = 12, .operations = 1500});
  const Loaded log(random.builder());
  const TimelineStack* kinds = log.KindsOf(1);
  ASSERT_NE(kinds, nullptr);
  const std::vector<Curve> edges = EdgeCurves(*kinds);
  const TimeNs begin = log.session->events().first_time(), end = log.session->events().last_time();
  std::vector<TimeNs> times;
  for (TimeNs i = 0; i <= 37; ++i) times.push_back(begin + (end - begin) * i / 37);
  const TimelineStack::Columns columns = kinds->Bytes(times);
  for (std::size_t b = 0; b < edges.size(); ++b) {
    Curve own = edges[b];
    for (std::size_t i = 0; b > 0 && i < own.values.size(); ++i)
      own.values[i] -= edges[b - 1].values[i];
    const Series series = own.Make();
    for (std::size_t i = 0; i + 1 < times.size(); ++i) {
      const Series::Sample sample = series.Between(times[i], times[i + 1]);
      ASSERT_EQ(columns.low[b][i], sample.min) << "band " << b << " column " << i;
      ASSERT_EQ(columns.high[b][i], sample.max) << "band " << b << " column " << i;
    }
  }
}

TEST(TimelineGroupsTest, AMomentWithinOneInstantIsNotLost) {
  LogBuilder log;
  log.Device(0, 1 << 30);
  log.SetTime(1000);
  log.Alloc(Layer::kLinear, 0x1000, 10);
  log.SetTime(2000);
  log.Alloc(Layer::kLinear, 0x2000, 90);
  log.SetTime(2000);
  log.Free(0x2000);
  log.SetTime(3000);
  log.Step(1);
  const Loaded loaded(log);
  const TimelineStack* stack = loaded.KindsOf(0);
  ASSERT_NE(stack, nullptr);
  EXPECT_EQ(stack->Max(Line::kTop), 100u);
  EXPECT_EQ(stack->TimeOfMax(Line::kTop), 2000u);
  EXPECT_EQ(stack->At(Line::kTop, 2000), 10u);
  EXPECT_EQ(stack->Between(Line::kTop, 1500, 2500).max, 100u);
  EXPECT_EQ(stack->Between(Line::kTop, 2001, 2500).max, 10u);
}

}  // namespace
}  // namespace memprof::analysis
