// Scales, ticks and time windows.
#include "viewer/geometry/axis.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "viewer/geometry/window_math.h"

namespace memprof::viewer {
namespace {

using analysis::StepInfo;
using analysis::TimeNs;
using analysis::TimeWindow;

TEST(TimeScale, PositionsAndTimesAreInverse) {
  const TimeScale scale{{1'000'000, 3'000'000}, 50, 400};
  EXPECT_DOUBLE_EQ(scale.X(1'000'000), 50);
  EXPECT_DOUBLE_EQ(scale.X(3'000'000), 450);
  EXPECT_DOUBLE_EQ(scale.X(2'000'000), 250);
  EXPECT_LT(scale.X(0), 50);
  for (double x = 50; x <= 450; x += 7) {
    EXPECT_NEAR(scale.X(scale.At(x)), x, 0.01);
  }
  EXPECT_EQ(scale.At(-10), 1'000'000u) << "clamped to the window";
  EXPECT_EQ(scale.At(9999), 3'000'000u);
}

TEST(ByteTicks, AreRoundApartAndInside) {
  for (const std::uint64_t max : {1ull, 100ull, 5000ull, 512ull << 20, 81ull << 30}) {
    const ByteScale scale{max, 300, 280};
    const std::vector<Tick> ticks = ByteTicks(scale, 30);
    ASSERT_FALSE(ticks.empty());
    EXPECT_EQ(ticks.front().label, QStringLiteral("0"));
    for (std::size_t i = 1; i < ticks.size(); ++i) {
      EXPECT_GE(ticks[i - 1].position - ticks[i].position, 29.99) << "max " << max;
      EXPECT_LE(ticks[i].value, static_cast<double>(max));
      EXPECT_GE(ticks[i].position, 20 - 0.01);
    }
  }
  const std::vector<Tick> ticks = ByteTicks({1ull << 30, 300, 280}, 60);
  ASSERT_EQ(ticks.size(), 5u);
  EXPECT_EQ(ticks[1].label, QStringLiteral("256 MiB"));
  EXPECT_EQ(ticks[4].label, QStringLiteral("1 GiB"));
}

TEST(TimeTicks, AreRoundTimesSinceTheOrigin) {
  const TimeNs origin = 123'456'789'000;
  const TimeScale scale{{origin + 250'000'000, origin + 2'250'000'000}, 0, 800};
  const std::vector<Tick> ticks = TimeTicks(scale, origin, 80);
  ASSERT_GE(ticks.size(), 5u);
  for (std::size_t i = 0; i < ticks.size(); ++i) {
    EXPECT_EQ(std::fmod(ticks[i].value, 1e8), 0) << "multiples of 100 ms";
    EXPECT_GE(ticks[i].position, 0);
    EXPECT_LE(ticks[i].position, 800);
    if (i == 0) continue;
    EXPECT_GE(ticks[i].position - ticks[i - 1].position, 79.9);
  }
  EXPECT_TRUE(TimeTicks({{5, 5}, 0, 100}, 0, 10).empty());
}

// For any times, numbers and sizes of a log: few ticks, all within the axis.
TEST(Ticks, EndAtTheEdgesOfTheirTypes) {
  constexpr TimeNs kTimes[] = {0, 1, (1ull << 63) - 1, 1ull << 63, ~0ull - 5, ~0ull};
  for (const TimeNs begin : kTimes) {
    for (const TimeNs end : kTimes) {
      for (const TimeNs origin : kTimes) {
        const std::vector<Tick> ticks = TimeTicks({{begin, end}, 0, 800}, origin, 80);
        EXPECT_LE(ticks.size(), 12u);
        for (const Tick& tick : ticks) EXPECT_TRUE(tick.position >= -1 && tick.position <= 801);
      }
    }
    EXPECT_LE(ByteTicks({begin, 300, 280}, 30).size(), 11u);
  }
  constexpr std::int64_t kNumbers[] = {INT64_MIN, -15, 0, 1, INT64_MAX - 3, INT64_MAX};
  for (const std::int64_t first : kNumbers) {
    for (const std::int64_t last : kNumbers) {
      const std::vector<Tick> ticks = NumberTicks(first, last, 0, 800, 80);
      EXPECT_LE(ticks.size(), 12u) << first << " " << last;
      for (const Tick& tick : ticks) EXPECT_TRUE(tick.position >= -1 && tick.position <= 801);
    }
  }
  const std::vector<Tick> below = NumberTicks(-15, 5, 0, 800, 300);
  ASSERT_EQ(below.size(), 2u);
  EXPECT_EQ(below[0].value, -10);
  EXPECT_EQ(below[1].value, 0);
}

TEST(ByteTicks, SayExactlyWhereTheyAre) {
  const std::vector<Tick> ticks = ByteTicks({13ull << 27, 500, 500}, 30);  // 1.625 GiB
  std::vector<QString> labels;
  for (const Tick& tick : ticks) labels.push_back(tick.label);
  const auto has = [&](const QString& label) {
    return std::find(labels.begin(), labels.end(), label) != labels.end();
  };
  EXPECT_TRUE(has(QStringLiteral("1.125 GiB")));
  EXPECT_TRUE(has(QStringLiteral("1.5 GiB")));
  EXPECT_TRUE(has(QStringLiteral("896 MiB")));
  EXPECT_FALSE(has(QStringLiteral("1.12 GiB")));
}

TEST(StepMarks, LabelsKeepTheirDistance) {
  std::vector<StepInfo> steps;
  for (int i = 0; i < 1000; ++i) {
    StepInfo step;
    step.number = i;
    step.begin = static_cast<TimeNs>(i) * 1000;
    step.end = step.begin + 1000;
    steps.push_back(step);
  }
  const TimeScale scale{{0, 1'000'000}, 0, 900};
  const std::vector<StepMark> marks = StepMarks(scale, steps, 5, 50);
  ASSERT_FALSE(marks.empty());
  double last_mark = -1e9, last_label = -1e9;
  for (const StepMark& mark : marks) {
    EXPECT_GE(mark.position - last_mark, 4.9);
    last_mark = mark.position;
    if (!mark.labelled) continue;
    EXPECT_GE(mark.position - last_label, 40);
    EXPECT_EQ(mark.number % 100, 0) << "only round numbers";
    last_label = mark.position;
  }
  EXPECT_GT(last_label, 0);
  const std::vector<StepMark> few = StepMarks({{10'000, 15'000}, 0, 900}, steps, 5, 50);
  ASSERT_EQ(few.size(), 6u);
  EXPECT_TRUE(few.front().labelled);
  EXPECT_EQ(few.front().number, 10);
}

TEST(WindowMath, ClampKeepsTheWidthWhereItFits) {
  const TimeWindow bounds{1000, 11000};
  const TimeWindow moved = Clamp({0, 2000}, bounds);
  EXPECT_EQ(moved.begin, 1000u);
  EXPECT_EQ(moved.end, 3000u);
  const TimeWindow wide = Clamp({0, 100000}, bounds);
  EXPECT_EQ(wide.begin, 1000u);
  EXPECT_EQ(wide.end, 11000u);
  const TimeWindow thin = Clamp({5000, 5000}, bounds);
  EXPECT_EQ(thin.end - thin.begin, kMinWindowNs);
}

TEST(WindowMath, ZoomKeepsTheAnchorWhereItIs) {
  const TimeWindow bounds{5'000'000'000, 15'000'000'000};
  std::mt19937 random(7);
  for (int i = 0; i < 500; ++i) {
    const TimeNs a = bounds.begin + random() % 10'000'000'000ull;
    const TimeNs b = bounds.begin + random() % 10'000'000'000ull;
    const TimeWindow window = Brush(a, b, bounds);
    const TimeNs anchor = window.begin + random() % (window.end - window.begin);
    const TimeWindow zoomed = ZoomAt(window, anchor, 0.5, bounds);
    ASSERT_GE(zoomed.begin, bounds.begin);
    ASSERT_LE(zoomed.end, bounds.end);
    const TimeScale before{window, 0, 1000}, after{zoomed, 0, 1000};
    if (window.end - window.begin > 4 * kMinWindowNs) {
      EXPECT_NEAR(before.X(anchor), after.X(anchor), 12) << "a hundredth of the width";
    }
    const TimeWindow out = ZoomAt(zoomed, anchor, 100, bounds);
    EXPECT_LE(out.end - out.begin, bounds.end - bounds.begin);
  }
}

TEST(WindowMath, PanStopsAtTheBounds) {
  const TimeWindow bounds{0, 10'000};
  EXPECT_EQ(Pan({2000, 4000}, -5000, bounds).begin, 0u);
  EXPECT_EQ(Pan({2000, 4000}, 500, bounds).begin, 2500u);
  const TimeWindow end = Pan({2000, 4000}, 1e9, bounds);
  EXPECT_EQ(end.end, 10'000u);
  EXPECT_EQ(end.end - end.begin, 2000u);
}

}  // namespace
}  // namespace memprof::viewer
