// Time counted in steps, and axes with steps of equal width.
#include "viewer/geometry/step_clock.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "viewer/geometry/axis.h"

namespace memprof::viewer {
namespace {

using analysis::StepInfo;
using analysis::TimeNs;
using analysis::TimeWindow;

std::vector<StepInfo> Steps(const std::vector<TimeNs>& begins, TimeNs end) {
  std::vector<StepInfo> steps;
  for (std::size_t i = 0; i < begins.size(); ++i) {
    steps.push_back(
        {static_cast<std::int64_t>(i), begins[i], i + 1 < begins.size() ? begins[i + 1] : end, {}});
  }
  return steps;
}

TEST(StepClock, WithoutStepsIsTime) {
  const StepClock clock;
  EXPECT_FALSE(clock.known());
  EXPECT_EQ(clock.ToSteps(TimeNs{12345}), 12345u);
  EXPECT_EQ(clock.ToTime(TimeNs{12345}), 12345u);
  EXPECT_FALSE(StepClock({}, {0, 100}).known());
  EXPECT_FALSE(StepClock(Steps({5}, 5), {5, 5}).known()) << "nothing was recorded";
}

TEST(StepClock, MakesEveryStepEquallyLong) {
  // Set-up of 100, then steps of 10, 700 and 90: 800 in three steps, 266 each.
  const StepClock clock(Steps({1100, 1110, 1810}, 1900), {1000, 1900});
  ASSERT_TRUE(clock.known());
  const TimeNs step = 800 / 3;
  EXPECT_EQ(clock.ToSteps(TimeNs{1000}), 1000u);
  EXPECT_EQ(clock.ToSteps(TimeNs{1100}), 1100u)
      << "set-up is shorter than a step: it keeps its length";
  EXPECT_EQ(clock.ToSteps(TimeNs{1110}), 1100u + step);
  EXPECT_EQ(clock.ToSteps(TimeNs{1810}), 1100u + 2 * step);
  EXPECT_EQ(clock.ToSteps(TimeNs{1900}), 1100u + 3 * step);
  EXPECT_EQ(clock.ToSteps(TimeNs{1460}), 1100u + step + step / 2) << "linear within a step";
  EXPECT_EQ(clock.ToTime(TimeNs{1100 + step}), 1110u);
}

TEST(StepClock, ALongSetUpCountsAsOneStep) {
  const StepClock clock(Steps({9000, 9100, 9200, 9300}, 9400), {0, 9400});
  EXPECT_EQ(clock.ToSteps(TimeNs{9000}), 100u);
  EXPECT_EQ(clock.ToSteps(TimeNs{9400}), 500u);
}

TEST(StepClock, IsItsOwnInverseAndRises) {
  std::mt19937 random(5);
  for (int round = 0; round < 20; ++round) {
    std::vector<TimeNs> begins;
    TimeNs now = 5'000'000'000 + random() % 1000;
    const TimeNs begin = now;
    for (int i = 0; i < 50; ++i) {
      begins.push_back(now);
      now += round % 3 == 0 && i % 7 == 0 ? 0 : 1 + random() % 1'000'000;  // empty steps too
    }
    const StepClock clock(Steps(begins, now), {begin, now});
    TimeNs last = 0;
    for (int i = 0; i <= 1000; ++i) {
      const TimeNs time = begin + (now - begin) * static_cast<TimeNs>(i) / 1000;
      const TimeNs there = clock.ToSteps(time);
      ASSERT_GE(there, last);
      last = there;
      // The error is limited by the coarser of the two units.
      const double stretch = static_cast<double>(now - begin) / 50;
      ASSERT_NEAR(static_cast<double>(clock.ToTime(there)), static_cast<double>(time),
                  1 + 1'000'000 / stretch);
    }
  }
}

TEST(StepClock, BrokenMarksDoNotBreakIt) {
  // Marks outside of the recording and out of order: the result is still monotonic and within
  // bounds.
  const StepClock clock(Steps({50, 2000, 1500, 9999}, 9999), {1000, 3000});
  TimeNs last = 0;
  for (TimeNs time = 900; time < 3100; time += 10) {
    const TimeNs there = clock.ToSteps(time);
    EXPECT_GE(there, last);
    last = there;
  }
  EXPECT_GE(clock.ToTime(TimeNs{2000}), 1000u);
}

class StepAxis : public ::testing::Test {
 protected:
  const std::vector<StepInfo> steps_ = Steps({0, 10'000, 10'100, 10'200, 60'000}, 100'000);
  const TimeWindow bounds_{0, 100'000};
  const StepClock clock_{steps_, bounds_};
  const TimeScale all_{bounds_, 50, 500, &clock_};
};

TEST_F(StepAxis, PutsStepsAtEqualDistances) {
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    EXPECT_NEAR(all_.X(steps_[i].begin), 50 + 100.0 * static_cast<double>(i), 0.01);
  }
  for (double x = 50; x <= 550; x += 3) EXPECT_NEAR(all_.X(all_.At(x)), x, 0.6);
  EXPECT_EQ(all_.At(-5), 0u);
  EXPECT_EQ(all_.At(999), 100'000u);
}

TEST_F(StepAxis, ZoomKeepsTheAnchorAndPanMovesByPixels) {
  const TimeNs anchor = 30'000;
  const TimeWindow zoomed = ZoomAt(all_, anchor, 0.5, bounds_);
  const TimeScale closer{zoomed, 50, 500, &clock_};
  EXPECT_NEAR(closer.X(anchor), all_.X(anchor), 1);
  EXPECT_NEAR(closer.X(60'000) - closer.X(10'200), 200, 1) << "a step is twice as wide";
  const TimeWindow moved = PanBy(closer, 40, bounds_);
  const TimeScale later{moved, 50, 500, &clock_};
  EXPECT_NEAR(later.X(anchor), closer.X(anchor) - 40, 1);
  const TimeWindow end = PanBy(closer, 1e6, bounds_);
  EXPECT_EQ(end.end, bounds_.end) << "stops at the end";
}

TEST_F(StepAxis, WithoutAClockItIsTheArithmeticOfTime) {
  const TimeScale scale{{20'000, 60'000}, 50, 500};
  EXPECT_EQ(PanBy(scale, 50, bounds_).begin, 24'000u);
  EXPECT_EQ(PanBy(scale, -1e9, bounds_).begin, 0u);
  const TimeWindow zoomed = ZoomAt(scale, 40'000, 0.5, bounds_);
  EXPECT_EQ(zoomed.begin, 30'000u);
  EXPECT_EQ(zoomed.end, 50'000u);
}

TEST_F(StepAxis, ColumnsCoverTheWindowOnceInBothKinds) {
  for (const StepClock* clock : {static_cast<const StepClock*>(nullptr), &clock_}) {
    for (const int columns : {1, 3, 777}) {
      const TimeScale scale{{5'000, 70'000}, 0, 300, clock};
      const std::vector<TimeNs> edges = ColumnEdges(scale, columns);
      ASSERT_EQ(edges.size(), static_cast<std::size_t>(columns) + 1);
      EXPECT_EQ(edges.front(), 5'000u);
      EXPECT_EQ(edges.back(), 70'000u);
      EXPECT_TRUE(std::is_sorted(edges.begin(), edges.end()));
      for (std::size_t i = 0; i < edges.size(); ++i) {
        EXPECT_NEAR(scale.X(edges[i]), 300.0 * static_cast<double>(i) / columns,
                    1.5 + 150.0 / columns);
      }
    }
  }
  EXPECT_TRUE(ColumnEdges(all_, 0).empty());
}

TEST_F(StepAxis, TimeLabelsKeepTheirDistanceWhereStepsDiffer) {
  const std::vector<Tick> ticks = TimeTicks(all_, 0, 60);
  ASSERT_GE(ticks.size(), 3u);
  for (std::size_t i = 1; i < ticks.size(); ++i) {
    EXPECT_GE(ticks[i].position - ticks[i - 1].position, 0.8 * 60);
    EXPECT_NEAR(ticks[i].position, all_.X(static_cast<TimeNs>(ticks[i].value)), 1e-6);
  }
}

TEST(NumberTicks, LieInTheMiddleOfTheirShare) {
  const std::vector<Tick> ticks = NumberTicks(0, 49, 100, 500, 40);
  ASSERT_EQ(ticks.size(), 10u) << "every fifth: forty pixels would allow every fourth";
  EXPECT_DOUBLE_EQ(ticks[0].position, 105);
  EXPECT_EQ(ticks[1].label, QStringLiteral("5"));
  EXPECT_DOUBLE_EQ(ticks[1].position, 155);
  EXPECT_EQ(NumberTicks(7, 7, 0, 10, 40).size(), 0u) << "7 is no multiple of what would fit";
  EXPECT_EQ(NumberTicks(7, 9, 0, 300, 40).size(), 3u);
  EXPECT_TRUE(NumberTicks(5, 4, 0, 100, 10).empty());
  EXPECT_TRUE(NumberTicks(0, 4, 0, 0, 10).empty());
}

TEST(StepMarks, SkipEvenlyWhereStepsDifferInLength) {
  // Every third step is short: labels of all visible steps would be 0, 1, 3, 4, 6 …
  std::vector<TimeNs> begins;
  TimeNs now = 0;
  for (int i = 0; i < 60; ++i) {
    begins.push_back(now);
    now += i % 3 == 1 ? 200 : 1400;
  }
  const std::vector<StepInfo> steps = Steps(begins, now);
  const std::vector<StepMark> marks = StepMarks({{0, now}, 0, 60 * 30.0}, steps, 3, 30);
  std::vector<std::int64_t> labels;
  for (const StepMark& mark : marks) {
    if (mark.labelled) labels.push_back(mark.number);
  }
  ASSERT_GE(labels.size(), 10u);
  for (std::size_t i = 1; i < labels.size(); ++i) {
    EXPECT_EQ(labels[i] - labels[i - 1], labels[1] - labels[0]) << "after " << labels[i - 1];
  }
}

}  // namespace
}  // namespace memprof::viewer
