// Curves of reserved bytes against all values that were passed to them.
#include "analysis/allocators/reserved_curve.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace memprof::analysis {
namespace {

struct AddedValues {
  std::vector<CurvePoint> points;  // all values passed

  // The maximum in [begin, end).
  std::uint64_t Most(TimeNs begin, TimeNs end) const {
    std::uint64_t most = 0;
    for (std::size_t i = 0; i < points.size(); ++i) {
      const bool holds_at_begin =
          points[i].time <= begin && (i + 1 == points.size() || points[i + 1].time > begin);
      if (holds_at_begin || (points[i].time >= begin && points[i].time < end))
        most = std::max(most, points[i].bytes);
    }
    return most;
  }
};

AddedValues AddRandomValues(std::uint32_t seed, int changes, ReservedCurve* curve) {
  std::mt19937 random(seed);
  AddedValues added;
  TimeNs time = 100;
  for (int i = 0; i < changes; ++i) {
    time += random() % 4;  // repeated times too
    const std::uint64_t bytes = random() % 50;
    if (added.points.empty() || added.points.back().bytes != bytes)
      added.points.push_back({time, bytes});
    curve->Add(time, bytes);
  }
  return added;
}

TEST(ReservedCurveTest, IsExactWhileThereAreFewChanges) {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    ReservedCurve curve(1000);
    const AddedValues added = AddRandomValues(seed, 300, &curve);
    const std::vector<CurvePoint> points = curve.Take();
    std::mt19937 random(seed);
    for (const TimeNs width : {1, 3, 17, 100}) {
      std::vector<TimeNs> edges;
      for (TimeNs t = 90 + static_cast<TimeNs>(random() % 20); t < 900; t += width)
        edges.push_back(t);
      const std::vector<std::uint64_t> most = MostInColumns(points, edges);
      ASSERT_EQ(most.size(), edges.size() - 1);
      for (std::size_t i = 0; i < most.size(); ++i)
        EXPECT_EQ(most[i], added.Most(edges[i], edges[i + 1]))
            << "seed " << seed << " from " << edges[i] << " width " << width;
    }
  }
}

TEST(ReservedCurveTest, HidesNoPeakHoweverManyChanges) {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    ReservedCurve curve(8);
    const AddedValues added = AddRandomValues(seed, 1000 + static_cast<int>(seed), &curve);
    const std::vector<CurvePoint> points = curve.Take();
    EXPECT_LE(points.size(), 17u);
    EXPECT_GE(points.size(), 8u) << "no coarser than necessary";
    const std::vector<TimeNs> all = {0, added.points.back().time + 1};
    EXPECT_EQ(MostInColumns(points, all).front(), added.Most(0, all.back()));
    EXPECT_EQ(points.front().time, added.points.front().time);
    for (std::size_t i = 0; i < points.size(); ++i) {
      const TimeNs end = i + 1 < points.size() ? points[i + 1].time : points.back().time + 10'000;
      // Each point is at least the maximum of its time span, and reached in it. (A value that was
      // replaced at the beginning of the span may be counted in the previous point.)
      if (end > points[i].time + 1) {
        EXPECT_GE(points[i].bytes, added.Most(points[i].time + 1, end));
      }
      EXPECT_TRUE(std::any_of(added.points.begin(), added.points.end(), [&](const CurvePoint& p) {
        return p.time >= points[i].time && p.time <= end && p.bytes == points[i].bytes;
      }));
    }
  }
}

TEST(ReservedCurveTest, ReportsNothingTwice) {
  ReservedCurve curve;
  curve.Add(1, 5);
  curve.Add(2, 5);
  curve.Add(3, 6);
  EXPECT_EQ(curve.Take(), (std::vector<CurvePoint>{{1, 5}, {3, 6}}));
}

TEST(ReservedCurveTest, ColumnsWithoutPointsOrEdges) {
  EXPECT_TRUE(MostInColumns({}, {}).empty());
  const std::vector<TimeNs> edges = {0, 10, 10, 20};
  EXPECT_EQ(MostInColumns({}, edges), (std::vector<std::uint64_t>{0, 0, 0}));
  const std::vector<CurvePoint> points = {{5, 7}};
  EXPECT_EQ(MostInColumns(points, edges), (std::vector<std::uint64_t>{7, 7, 7}));
  const std::vector<TimeNs> before = {0, 5};
  EXPECT_EQ(MostInColumns(points, before), (std::vector<std::uint64_t>{0}));
}

}  // namespace
}  // namespace memprof::analysis
