// Widths of the pieces of a line, against a search over all caps.
#include "viewer/geometry/line_fit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace memprof::viewer {
namespace {

double Sum(const std::vector<double>& widths) {
  return std::accumulate(widths.begin(), widths.end(), 0.0);
}

TEST(FitLine, KeepsWhatFits) {
  const std::vector<LinePiece> pieces = {{100, 100, 0}, {200, 50, 0}, {30, 30, 1}};
  EXPECT_EQ(FitLine(pieces, 330), (std::vector<double>{100, 200, 30}));
}

TEST(FitLine, ShortensNamesBeforeItLeavesGroupsOut) {
  const std::vector<LinePiece> pieces = {{100, 100, 0}, {200, 50, 0}, {30, 30, 1}, {40, 40, 2}};
  EXPECT_EQ(FitLine(pieces, 300), (std::vector<double>{100, 130, 30, 40}));
  EXPECT_EQ(FitLine(pieces, 200), (std::vector<double>{100, 70, 30, 0}));
  EXPECT_EQ(FitLine(pieces, 160), (std::vector<double>{100, 60, 0, 0}));
  EXPECT_EQ(FitLine(pieces, 10), (std::vector<double>{100, 50, 0, 0})) << "too narrow for any";
}

TEST(FitLine, ShortNamesLeaveTheirShareToLongOnes) {
  const std::vector<LinePiece> pieces = {{20, 10, 0}, {200, 10, 0}, {300, 10, 0}};
  EXPECT_EQ(FitLine(pieces, 220), (std::vector<double>{20, 100, 100}));
}

TEST(ColumnsToGo, AsFewAsPossibleInTheirOrder) {
  const std::vector<int> may_go = {30, 0, 20, 50};
  EXPECT_EQ(ColumnsToGo(200, may_go, 200), 0u);
  EXPECT_EQ(ColumnsToGo(201, may_go, 200), 1u);
  EXPECT_EQ(ColumnsToGo(231, may_go, 200), 3u) << "the second is kept and frees nothing";
  EXPECT_EQ(ColumnsToGo(500, may_go, 200), 4u) << "then the table scrolls";
}

// The most groups that fit with any cap of a whole number, and the largest such cap.
std::vector<double> Search(const std::vector<LinePiece>& pieces, int room) {
  const auto with = [&](int groups, int cap) {
    std::vector<double> widths;
    for (const LinePiece& piece : pieces)
      widths.push_back(
          piece.group > groups ? 0 : std::min(piece.width, std::max<double>(piece.least, cap)));
    return widths;
  };
  for (int groups = 3; groups > 0; --groups) {
    for (int cap = 400; cap >= 0; --cap) {
      const std::vector<double> widths = with(groups, cap);
      const bool readable = std::all_of(pieces.begin(), pieces.end(), [&](const LinePiece& piece) {
        return piece.group > groups || piece.least == piece.width || cap >= piece.least;
      });
      if (readable && Sum(widths) <= room) return widths;
    }
  }
  for (int cap = 400; cap > 0; --cap)
    if (Sum(with(0, cap)) <= room) return with(0, cap);
  return with(0, 0);
}

TEST(FitLine, IsAsGoodAsASearch) {
  std::mt19937 random(7);
  const auto below = [&random](int n) {
    return static_cast<int>(random() % static_cast<unsigned>(n));
  };
  for (int round = 0; round < 300; ++round) {
    std::vector<LinePiece> pieces;
    for (int i = 0, n = 1 + below(6); i < n; ++i) {
      const int width = 1 + below(300);
      pieces.push_back({static_cast<double>(width),
                        static_cast<double>(below(2) == 0 ? width : std::min(width, 40)),
                        below(4)});
    }
    const int room = below(900);
    const std::vector<double> got = FitLine(pieces, room), want = Search(pieces, room);
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < got.size(); ++i)
      ASSERT_NEAR(got[i], want[i], 1) << "piece " << i << " in round " << round;
  }
}

}  // namespace
}  // namespace memprof::viewer
