// The pyramid of a series against plain loops.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "analysis/timeline/timeline.h"

namespace memprof::analysis {
namespace {

struct Raw {
  std::vector<TimeNs> time;
  std::vector<std::uint64_t> value;

  std::uint64_t At(TimeNs t) const {
    std::uint64_t held = 0;
    for (std::size_t i = 0; i < time.size() && time[i] <= t; ++i) held = value[i];
    return held;
  }
  Series::Sample Between(TimeNs begin, TimeNs end) const {
    if (end <= begin) return {At(begin), At(begin), At(begin)};
    std::vector<std::uint64_t> seen;
    // At `begin` the earlier value holds, unless it changes exactly there.
    if (std::find(time.begin(), time.end(), begin) == time.end()) seen.push_back(At(begin));
    for (std::size_t i = 0; i < time.size(); ++i) {
      if (time[i] >= begin && time[i] < end) seen.push_back(value[i]);
    }
    return {*std::min_element(seen.begin(), seen.end()),
            *std::max_element(seen.begin(), seen.end()), At(end - 1)};
  }
};

Raw RandomRaw(std::mt19937_64& random, std::size_t samples) {
  Raw raw;
  TimeNs now = 100;
  for (std::size_t i = 0; i < samples; ++i) {
    now += random() % 4;  // equal times too
    raw.time.push_back(now);
    raw.value.push_back(random() % 1000);
  }
  return raw;
}

void ExpectSame(const Series::Sample& got, const Series::Sample& want) {
  EXPECT_EQ(got.min, want.min);
  EXPECT_EQ(got.max, want.max);
  EXPECT_EQ(got.last, want.last);
}

TEST(SeriesTest, EmptyIsZero) {
  const Series series;
  EXPECT_TRUE(series.empty());
  EXPECT_EQ(series.At(5), 0u);
  EXPECT_EQ(series.max(), 0u);
  ExpectSame(series.Between(0, 10), {0, 0, 0});
  EXPECT_EQ(series.Columns({0, 10}, 3).size(), 3u);
}

TEST(SeriesTest, MatchesPlainLoops) {
  std::mt19937_64 random(7);
  for (const std::size_t samples : {1u, 2u, 15u, 16u, 17u, 255u, 257u, 700u}) {
    const Raw raw = RandomRaw(random, samples);
    const Series series(raw.time, raw.value);
    EXPECT_EQ(series.max(), *std::max_element(raw.value.begin(), raw.value.end()));
    const auto first_max = std::max_element(raw.value.begin(), raw.value.end());
    EXPECT_EQ(series.time_of_max(), raw.time[first_max - raw.value.begin()]);
    for (int i = 0; i < 200; ++i) {
      const TimeNs begin = 90 + random() % (samples * 2 + 30);
      const TimeNs end = begin + random() % (samples + 20);
      SCOPED_TRACE(::testing::Message() << samples << " samples, [" << begin << ", " << end << ")");
      EXPECT_EQ(series.At(begin), raw.At(begin));
      ExpectSame(series.Between(begin, end), raw.Between(begin, end));
    }
  }
}

TEST(SeriesTest, ColumnsCoverTheWindowAndHideNoPeak) {
  std::mt19937_64 random(8);
  const Raw raw = RandomRaw(random, 3000);
  const Series series(raw.time, raw.value);
  for (const int columns : {1, 7, 100, 4000}) {
    const TimeWindow window{120, 5000};
    const std::vector<Series::Sample> samples = series.Columns(window, columns);
    ASSERT_EQ(samples.size(), static_cast<std::size_t>(columns));
    std::uint64_t peak = 0;
    for (const Series::Sample& sample : samples) peak = std::max(peak, sample.max);
    EXPECT_EQ(peak, raw.Between(window.begin, window.end).max);
    EXPECT_EQ(samples.back().last, raw.At(window.end - 1));
  }
  EXPECT_TRUE(series.Columns({0, 10}, 0).empty());
}

TEST(SeriesTest, OpenWindowEndsWithTheLastSample) {
  const Series series({10, 20, 30}, {1, 5, 2});
  const auto samples = series.Columns({10, kForever}, 3);  // [10, 31) in three
  ASSERT_EQ(samples.size(), 3u);
  EXPECT_EQ(samples[0].max, 1u);
  EXPECT_EQ(samples[1].max, 5u);
  EXPECT_EQ(samples[2].last, 2u);
}

}  // namespace
}  // namespace memprof::analysis
