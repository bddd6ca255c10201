// Rows and boxes of named ranges.
#include "viewer/geometry/range_lanes.h"

#include <gtest/gtest.h>

#include <random>

namespace memprof::viewer {
namespace {

using analysis::RangeInfo;
using analysis::StringId;

RangeInfo Range(std::uint32_t thread, int depth, analysis::TimeNs begin, analysis::TimeNs end) {
  return {StringId(1), thread, begin, end, depth};
}

const TimeScale kScale{{0, 1000}, 100, 500};

RangeLanes LayOutRanges(const std::vector<RangeInfo>& ranges, const TimeScale& scale, int rows) {
  return RangeIndex(ranges, rows).LayOut(scale);
}

// Boxes of one row, in order of ranges.
std::vector<RangeBox> OneByOne(const std::vector<RangeInfo>& ranges, const TimeScale& scale) {
  std::vector<RangeBox> boxes;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    if (ranges[i].begin >= scale.window.end || ranges[i].end <= scale.window.begin) continue;
    const RangeBox box{i, 1, 0, std::max(scale.X(ranges[i].begin), scale.left),
                       std::min(scale.X(ranges[i].end), scale.left + scale.width)};
    RangeBox* last = boxes.empty() ? nullptr : &boxes.back();
    if (last != nullptr && box.right - box.left < 3 && box.left - last->right < 3 &&
        (last->count > 1 || last->right - last->left < 3)) {
      ++last->count;
      last->right = std::max(last->right, box.right);
    } else {
      boxes.push_back(box);
    }
  }
  return boxes;
}

TEST(RangeLanes, AreThoseThatEveryRangeByItselfGives) {
  std::mt19937 random(4);
  for (int round = 0; round < 60; ++round) {
    std::vector<RangeInfo> ranges;
    analysis::TimeNs now = 0;
    for (int i = 0; i < 400; ++i) {
      now += random() % 10 == 0 ? random() % 3000 : random() % 20;
      const analysis::TimeNs length = random() % 15 == 0 ? random() % 4000 : random() % 15;
      ranges.push_back(Range(0, 0, now, now + length));
      now += length;
    }
    const std::vector<analysis::StepInfo> steps = {
        {0, 0, now / 9, {}}, {1, now / 9, now / 2, {}}, {2, now / 2, now, {}}};
    const StepClock clock(steps, {0, now});
    const analysis::TimeNs begin = random() % now, end = begin + 1 + random() % (now - begin + 9);
    const TimeScale scale{{begin, end}, 40, 300, round % 2 == 0 ? nullptr : &clock};
    const std::vector<RangeBox> expected = OneByOne(ranges, scale);
    const RangeLanes lanes = LayOutRanges(ranges, scale, 5);
    ASSERT_EQ(lanes.boxes.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      ASSERT_EQ(lanes.boxes[i].first, expected[i].first);
      ASSERT_EQ(lanes.boxes[i].count, expected[i].count);
      ASSERT_NEAR(lanes.boxes[i].left, expected[i].left, 1e-9);
      ASSERT_NEAR(lanes.boxes[i].right, expected[i].right, 1e-9);
    }
  }
}

TEST(RangeLanes, NestThreadsBelowEachOther) {
  const std::vector<RangeInfo> ranges = {Range(4, 0, 0, 600), Range(4, 1, 100, 200),
                                         Range(2, 0, 50, 900), Range(4, 1, 300, 500)};
  const RangeLanes lanes = LayOutRanges(ranges, kScale, 5);
  EXPECT_EQ(lanes.rows, 3);
  EXPECT_EQ(lanes.hidden, 0);
  ASSERT_EQ(lanes.boxes.size(), 4u);
  EXPECT_EQ(lanes.boxes[0].first, 2u) << "thread 2 comes first";
  EXPECT_EQ(lanes.boxes[0].row, 0);
  EXPECT_DOUBLE_EQ(lanes.boxes[0].left, 125);
  EXPECT_DOUBLE_EQ(lanes.boxes[0].right, 550);
  EXPECT_EQ(lanes.boxes[1].row, 1);
  EXPECT_EQ(lanes.boxes[2].row, 2);
  EXPECT_EQ(lanes.boxes[2].first, 1u) << "inner ranges from left to right";
  EXPECT_EQ(lanes.boxes[3].first, 3u);
}

TEST(RangeLanes, RowsStayWhenTheWindowMoves) {
  const std::vector<RangeInfo> ranges = {Range(0, 0, 0, 10), Range(0, 1, 2, 8),
                                         Range(1, 0, 900, 950)};
  const RangeLanes lanes = LayOutRanges(ranges, {{800, 1000}, 0, 500}, 5);
  EXPECT_EQ(lanes.rows, 3);
  ASSERT_EQ(lanes.boxes.size(), 1u);
  EXPECT_EQ(lanes.boxes[0].row, 2);
}

TEST(RangeLanes, AreCutAtTheWindow) {
  const std::vector<RangeInfo> ranges = {Range(0, 0, 0, 1000), Range(0, 1, 0, 400),
                                         Range(0, 1, 600, 900)};
  const RangeLanes lanes = LayOutRanges(ranges, {{400, 600}, 10, 200}, 5);
  ASSERT_EQ(lanes.boxes.size(), 1u) << "a range that only touches the window is not in it";
  EXPECT_DOUBLE_EQ(lanes.boxes[0].left, 10);
  EXPECT_DOUBLE_EQ(lanes.boxes[0].right, 210);
}

TEST(RangeLanes, ShowHowManyRowsAreHidden) {
  std::vector<RangeInfo> ranges;
  for (int depth = 0; depth < 9; ++depth) ranges.push_back(Range(0, depth, 0, 1000));
  const RangeLanes lanes = LayOutRanges(ranges, kScale, 4);
  EXPECT_EQ(lanes.rows, 4);
  EXPECT_EQ(lanes.hidden, 5);
  EXPECT_EQ(lanes.boxes.size(), 4u);
  EXPECT_EQ(LayOutRanges({}, kScale, 4).rows, 0);
}

TEST(RangeLanes, ThinOnesBecomeOneAndNoneIsLost) {
  std::mt19937 random(9);
  std::vector<RangeInfo> ranges;
  analysis::TimeNs now = 0;
  for (int i = 0; i < 3000; ++i) {
    now += random() % 100 == 0 ? 60'000 : random() % 300;
    const analysis::TimeNs length = random() % 50 == 0 ? 40'000 : random() % 200;
    ranges.push_back(Range(0, 0, now, now + length));
    now += length;
  }
  const TimeScale scale{{0, now + 1}, 0, 1000};
  const RangeLanes lanes = LayOutRanges(ranges, scale, 5);
  std::size_t sum = 0;
  for (std::size_t i = 0; i < lanes.boxes.size(); ++i) {
    sum += lanes.boxes[i].count;
    if (i > 0) {
      EXPECT_GE(lanes.boxes[i].left, lanes.boxes[i - 1].right - 1e-6) << "boxes do not overlap";
    }
  }
  EXPECT_EQ(sum, ranges.size());
  EXPECT_LT(lanes.boxes.size(), 700u) << "no more boxes than distinguishable pixels";
  EXPECT_GT(lanes.boxes.size(), 50u);
  for (const RangeBox& box : lanes.boxes) {
    const double width = scale.X(ranges[box.first].end) - scale.X(ranges[box.first].begin);
    if (width >= 3) {
      EXPECT_EQ(box.count, 1u) << "wide boxes are not merged";
    }
  }
}

TEST(RangeLanes, AreHitWhereTheyAreDrawn) {
  const std::vector<RangeInfo> ranges = {Range(0, 0, 0, 200), Range(0, 0, 400, 401),
                                         Range(0, 1, 50, 100)};
  const RangeLanes lanes = LayOutRanges(ranges, kScale, 5);
  const auto at = [&](int row, double x) {
    const int hit = HitRange(lanes, row, x);
    return hit < 0 ? -1 : static_cast<int>(lanes.boxes[static_cast<std::size_t>(hit)].first);
  };
  EXPECT_EQ(at(0, 100), 0);
  EXPECT_EQ(at(0, 199.9), 0);
  EXPECT_EQ(at(1, 130), 2);
  EXPECT_EQ(at(1, 190), -1);
  EXPECT_EQ(at(0, 301.5), 1) << "a narrow box can be hit slightly beside it";
  EXPECT_EQ(at(0, 298.5), 1);
  EXPECT_EQ(at(0, 305), -1);
  EXPECT_EQ(at(2, 130), -1);
}

}  // namespace
}  // namespace memprof::viewer
