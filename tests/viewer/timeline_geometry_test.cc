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
    const Series difference = Subtract(a, b), least = Minimum(a, b), most = Maximum(a, b),
                 sum = Sum(a, b);
    for (TimeNs t = 0; t < 900; ++t) {
      const std::uint64_t x = a.At(t), y = b.At(t);
      ASSERT_EQ(difference.At(t), x > y ? x - y : 0) << "at " << t;
      ASSERT_EQ(least.At(t), std::min(x, y)) << "at " << t;
      ASSERT_EQ(most.At(t), std::max(x, y)) << "at " << t;
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
  EXPECT_EQ(bands.bands[1].edge.max(), bands.in_use.max()) << "an edge's peak is exact";
  EXPECT_EQ(bands.bands[3].edge.max(), bands.top.max());
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

// Every band's edge in every column against a walk over all of its nanoseconds.
void ExpectExactColumns(const TimelineBands& bands, const TimeScale& scale, int columns) {
  const TimelineColumns picture = MakeColumns(bands, scale, columns);
  ASSERT_EQ(picture.columns, columns);
  ASSERT_EQ(picture.low.size(), bands.bands.size());
  const std::vector<TimeNs> edges = ColumnEdges(scale, columns);
  for (std::size_t b = 0; b < bands.bands.size(); ++b) {
    for (std::size_t i = 0; i < picture.high[b].size(); ++i) {
      std::uint64_t low = ~std::uint64_t{0}, high = 0;
      for (TimeNs t = edges[i]; t < std::max(edges[i + 1], edges[i] + 1); ++t) {
        std::uint64_t sum = 0;
        for (std::size_t below = 0; below <= b; ++below) sum += bands.bands[below].series.At(t);
        low = std::min(low, sum);
        high = std::max(high, sum);
      }
      ASSERT_EQ(picture.low[b][i], low) << "band " << b << " column " << i << " of " << columns;
      ASSERT_EQ(picture.high[b][i], high) << "band " << b << " column " << i << " of " << columns;
    }
  }
}

// Strictly rising times: several values in one nanosecond would not be met by the walk.
Series RandomSteps(std::mt19937& random, int points, std::uint64_t limit) {
  std::vector<TimeNs> times;
  std::vector<std::uint64_t> values;
  TimeNs now = random() % 50;
  for (int i = 0; i < points; ++i) {
    now += 1 + random() % 20;
    times.push_back(now);
    values.push_back(random() % limit);
  }
  return Series(std::move(times), std::move(values));
}

TEST(Columns, HideNoPeakOfAnyLayer) {
  std::mt19937 random(11);
  for (int round = 0; round < 4; ++round) {
    DeviceTimeline timeline;
    timeline.layer[static_cast<std::size_t>(Layer::kLinear)] = RandomSteps(random, 400, 5000);
    timeline.layer[static_cast<std::size_t>(Layer::kManaged)] = RandomSteps(random, 400, 3000);
    timeline.total = Sum(timeline.layer[static_cast<std::size_t>(Layer::kLinear)],
                         timeline.layer[static_cast<std::size_t>(Layer::kManaged)]);
    timeline.tensors = RandomSteps(random, 300, 4000);
    timeline.reserved = Sum(timeline.total, RandomSteps(random, 50, 2000));
    const TimelineBands bands = MakeBands(timeline);
    ASSERT_EQ(bands.bands.size(), 4u);
    for (const int columns : {1, 7, 100, 1000, 5000}) {
      ExpectExactColumns(bands, {{100, 4100}, 0, 800}, columns);
    }
  }
}

TEST(Columns, OfStepsFollowTheStepClock) {
  std::mt19937 random(12);
  DeviceTimeline timeline = FrameworkTimeline();
  timeline.framework_allocated = RandomSteps(random, 60, 700);
  const TimelineBands bands = MakeBands(timeline);
  const std::vector<analysis::StepInfo> steps = {
      {0, 50, 60, {}}, {1, 60, 500, {}}, {2, 500, 510, {}}, {3, 510, 900, {}}};
  const StepClock clock(steps, {0, 900});
  for (const int columns : {1, 8, 333}) {
    ExpectExactColumns(bands, {{0, 900}, 0, 800, &clock}, columns);
    ExpectExactColumns(bands, {{55, 505}, 0, 800, &clock}, columns);
  }
}

TEST(Columns, KnowWhatTheyWereMadeFor) {
  const TimelineBands bands = MakeBands(FrameworkTimeline());
  const StepClock clock;
  const TimelineColumns made = MakeColumns(bands, {{0, 300}, 0, 100}, 50);
  EXPECT_TRUE(made.Fit({{0, 300}, 7, 900}, 50)) << "where they are drawn does not matter";
  EXPECT_FALSE(made.Fit({{0, 300}, 0, 100}, 51));
  EXPECT_FALSE(made.Fit({{1, 300}, 0, 100}, 50));
  EXPECT_FALSE(made.Fit({{0, 299}, 0, 100}, 50));
  EXPECT_FALSE(made.Fit({{0, 300}, 0, 100, &clock}, 50));
}

TEST(Columns, OfNoWidthAreNone) {
  const TimelineBands bands = MakeBands(FrameworkTimeline());
  EXPECT_EQ(MakeColumns(bands, {{0, 100}, 0, 10}, 0).columns, 0);
  EXPECT_EQ(MakeColumns(bands, {{100, 100}, 0, 10}, 10).columns, 0);
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
