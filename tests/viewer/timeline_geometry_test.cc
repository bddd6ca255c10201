// Bands that add up, and columns that never hide a peak.
#include <gtest/gtest.h>

#include <random>

#include "viewer/geometry/timeline_bands.h"
#include "viewer/geometry/timeline_columns.h"

namespace memprof::viewer {
namespace {

using analysis::DeviceTimeline;
using analysis::Layer;
using analysis::Series;
using analysis::TimeNs;

Series RandomSeries(std::mt19937& random, int points, std::uint64_t limit) {
  std::vector<TimeNs> times;
  std::vector<std::uint64_t> values;
  TimeNs now = random() % 50;
  for (int i = 0; i < points; ++i) {
    now += random() % 20;
    times.push_back(now);
    values.push_back(random() % limit);
  }
  return Series(std::move(times), std::move(values));
}

TEST(SeriesArithmetic, AgreesWithEveryInstant) {
  std::mt19937 random(3);
  for (int round = 0; round < 20; ++round) {
    const Series a = RandomSeries(random, 60, 1000), b = RandomSeries(random, 40, 1000);
    const Series difference = Subtract(a, b), least = Minimum(a, b), sum = Sum(a, b);
    for (TimeNs t = 0; t < 900; ++t) {
      const std::uint64_t x = a.At(t), y = b.At(t);
      ASSERT_EQ(difference.At(t), x > y ? x - y : 0) << "at " << t;
      ASSERT_EQ(least.At(t), std::min(x, y)) << "at " << t;
      ASSERT_EQ(sum.At(t), x + y) << "at " << t;
    }
  }
}

TEST(SeriesArithmetic, WithNothingIsNothing) {
  const Series some({10, 20}, {5, 7});
  EXPECT_EQ(Subtract(some, Series()).At(15), 5u);
  EXPECT_EQ(Minimum(some, Series()).At(15), 0u);
  EXPECT_TRUE(Minimum(some, Series()).empty());
}

// Tensors within blocks within segments within driver memory.
DeviceTimeline FrameworkTimeline() {
  DeviceTimeline timeline;
  timeline.total = Series({0, 100, 200}, {1000, 1500, 1500});
  timeline.layer[static_cast<std::size_t>(Layer::kLinear)] = timeline.total;
  timeline.reserved = timeline.total;
  timeline.framework_reserved = Series({0, 100}, {800, 1300});
  timeline.framework_allocated = Series({10, 110, 150}, {600, 1200, 300});
  timeline.tensors = Series({20, 120, 150}, {500, 1100, 200});
  return timeline;
}

TEST(Bands, OfAFrameworkAddUpToTheDevice) {
  const TimelineBands bands = MakeBands(FrameworkTimeline());
  ASSERT_EQ(bands.bands.size(), 4u);
  EXPECT_EQ(bands.bands[0].role, BandRole::kTensors);
  EXPECT_EQ(bands.bands[1].role, BandRole::kBlocks);
  EXPECT_EQ(bands.bands[2].role, BandRole::kCached);
  EXPECT_EQ(bands.bands[3].role, BandRole::kLinear);
  EXPECT_TRUE(bands.framework);
  for (TimeNs t = 0; t < 300; ++t) {
    std::uint64_t sum = 0;
    for (const std::uint64_t value : ValuesAt(bands, t)) sum += value;
    ASSERT_EQ(sum, bands.top.At(t)) << "at " << t;
    ASSERT_EQ(sum, bands.allocated.At(t)) << "at " << t;
  }
  EXPECT_EQ(ValuesAt(bands, 130), (std::vector<std::uint64_t>{1100, 100, 100, 200}));
  EXPECT_EQ(bands.in_use.max(), 1200u);
}

TEST(Bands, OfTheDriverAreItsLayersAndPools) {
  DeviceTimeline timeline;
  timeline.layer[static_cast<std::size_t>(Layer::kLinear)] = Series({0}, {100});
  timeline.layer[static_cast<std::size_t>(Layer::kStreamOrdered)] = Series({10}, {50});
  timeline.total = Series({0, 10}, {100, 150});
  timeline.reserved = Series({0, 10}, {100, 400});
  timeline.tensors = Series({5}, {30});
  const TimelineBands bands = MakeBands(timeline);
  ASSERT_EQ(bands.bands.size(), 4u);
  EXPECT_EQ(bands.bands[0].role, BandRole::kTensors);
  EXPECT_EQ(bands.bands[3].role, BandRole::kPool);
  EXPECT_EQ(ValuesAt(bands, 20), (std::vector<std::uint64_t>{30, 70, 50, 250}));
  EXPECT_EQ(bands.top.At(20), 400u);
  EXPECT_EQ(bands.allocated.max(), 150u) << "the peak is of what was asked for";
}

TEST(Bands, OfTheHostAreItsOwn) {
  DeviceTimeline timeline;
  timeline.device = analysis::kNoDevice;
  timeline.layer[static_cast<std::size_t>(Layer::kPinned)] = Series({0}, {64});
  const TimelineBands bands = MakeBands(timeline);
  ASSERT_EQ(bands.bands.size(), 1u);
  EXPECT_EQ(bands.bands[0].role, BandRole::kPinned);
  EXPECT_EQ(bands.top.max(), 64u);
}

TEST(Columns, AreAsHighAsTheHighestMomentInThem) {
  std::mt19937 random(11);
  DeviceTimeline timeline;
  timeline.layer[static_cast<std::size_t>(Layer::kLinear)] = RandomSeries(random, 400, 5000);
  timeline.layer[static_cast<std::size_t>(Layer::kManaged)] = RandomSeries(random, 400, 3000);
  timeline.total = Sum(timeline.layer[static_cast<std::size_t>(Layer::kLinear)],
                       timeline.layer[static_cast<std::size_t>(Layer::kManaged)]);
  timeline.reserved = timeline.total;
  const TimelineBands bands = MakeBands(timeline);
  for (const int columns : {1, 7, 100, 1000}) {
    const analysis::TimeWindow window{100, 4100};
    const TimelineColumns picture = MakeColumns(bands, window, columns);
    ASSERT_EQ(picture.columns, columns);
    std::uint64_t highest = 0;
    for (int i = 0; i < columns; ++i) {
      const auto n = static_cast<std::size_t>(i);
      highest = std::max(highest, picture.high[n]);
      EXPECT_NEAR(picture.band_top.back()[n], static_cast<double>(picture.high[n]), 0.5);
      EXPECT_LE(picture.band_top[0][n], picture.band_top[1][n]);
      EXPECT_LE(picture.low[n], picture.high[n]);
    }
    std::uint64_t brute = 0;
    for (TimeNs t = window.begin; t < window.end; ++t) brute = std::max(brute, bands.top.At(t));
    EXPECT_EQ(highest, brute) << columns << " columns hide the peak";
  }
}

TEST(Columns, OfNoWidthAreNone) {
  const TimelineBands bands = MakeBands(FrameworkTimeline());
  EXPECT_EQ(MakeColumns(bands, {0, 100}, 0).columns, 0);
  EXPECT_EQ(MakeColumns(bands, {100, 100}, 10).columns, 0);
}

TEST(Axis, ShowsTheCapacityWhereItIsNear) {
  EXPECT_TRUE(ChooseAxis(900, 1000).shows_capacity);
  EXPECT_GE(ChooseAxis(900, 1000).max_bytes, 1000u);
  EXPECT_FALSE(ChooseAxis(100, 1000).shows_capacity);
  EXPECT_LT(ChooseAxis(100, 1000).max_bytes, 150u);
  EXPECT_FALSE(ChooseAxis(100, 0).shows_capacity);
  EXPECT_GE(ChooseAxis(1200, 1000).max_bytes, 1200u) << "more than the capacity is still shown";
}

}  // namespace
}  // namespace memprof::viewer
