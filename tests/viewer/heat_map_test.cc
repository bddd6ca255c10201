// Heat maps: medians, and which cell a pixel shows, against brute force; zooming.
#include "viewer/geometry/heat_map.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

namespace memprof::viewer {
namespace {

using Pair = std::pair<std::size_t, std::size_t>;

constexpr double kGap = std::numeric_limits<double>::quiet_NaN();

struct Matrix {
  std::vector<double> values;
  std::vector<std::uint32_t> groups, order;
  std::size_t columns;
  std::vector<double> medians;
  HeatCells cells() const { return {values, medians, groups, order, columns}; }
};

Matrix RandomMatrix(std::mt19937_64& random, std::size_t rows, std::size_t columns,
                    std::uint32_t groups) {
  Matrix matrix;
  matrix.columns = columns;
  for (std::size_t i = 0; i < rows * columns; ++i)
    matrix.values.push_back(random() % 5 == 0 ? kGap : static_cast<double>(random() % 50));
  for (std::size_t row = 0; row < rows; ++row)
    matrix.groups.push_back(static_cast<std::uint32_t>(random() % groups));
  matrix.order.resize(rows);
  std::iota(matrix.order.begin(), matrix.order.end(), 0u);
  std::shuffle(matrix.order.begin(), matrix.order.end(), random);
  matrix.medians = GroupMedians(matrix.values, matrix.groups, groups, columns);
  return matrix;
}

double PlainMedian(const Matrix& matrix, std::uint32_t group, std::size_t column) {
  std::vector<double> found;
  for (std::size_t row = 0; row < matrix.groups.size(); ++row) {
    const double value = matrix.values[row * matrix.columns + column];
    if (matrix.groups[row] == group && !std::isnan(value)) found.push_back(value);
  }
  std::sort(found.begin(), found.end());
  if (found.empty()) return kGap;
  const std::size_t half = found.size() / 2;
  return found.size() % 2 == 1 ? found[half] : (found[half - 1] + found[half]) / 2;
}

TEST(HeatMap, MediansAreThoseOfTheGroup) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 60; ++round) {
    const Matrix matrix = RandomMatrix(random, 1 + random() % 20, 1 + random() % 70, 3);
    for (std::uint32_t group = 0; group < 3; ++group) {
      for (std::size_t column = 0; column < matrix.columns; ++column) {
        const double is = matrix.medians[group * matrix.columns + column];
        const double wanted = PlainMedian(matrix, group, column);
        ASSERT_TRUE(is == wanted || (std::isnan(is) && std::isnan(wanted)));
      }
    }
  }
}

// A cell belongs to a pixel if the pixel's share of the view reaches into it; where cells are wider
// than pixels, the pixel shows the cell at its left end.
bool Shares(std::size_t index, std::size_t begin, std::size_t end, int pixel, int pixels) {
  const auto place = [&](int i) {
    return begin + static_cast<std::size_t>(std::floor(static_cast<double>(end - begin) * i /
                                                       static_cast<double>(pixels)));
  };
  const std::size_t first = place(pixel), last = place(pixel + 1);
  return index == first || (index > first && index < last);
}

std::int64_t PlainCell(const Matrix& matrix, const HeatView& view, int x, int y, int width,
                       int height) {
  std::int64_t best = kNoCell;
  double farthest = -1;
  for (std::size_t place = view.row_begin; place < view.row_end; ++place) {
    for (std::size_t column = view.column_begin; column < view.column_end; ++column) {
      const std::size_t row = matrix.order[place], cell = row * matrix.columns + column;
      if (std::isnan(matrix.values[cell]) ||
          !Shares(place, view.row_begin, view.row_end, y, height) ||
          !Shares(column, view.column_begin, view.column_end, x, width))
        continue;
      const double distance =
          std::abs(matrix.values[cell] - PlainMedian(matrix, matrix.groups[row], column));
      if (distance > farthest) {
        farthest = distance;
        best = static_cast<std::int64_t>(cell);
      }
    }
  }
  return best;
}

TEST(HeatMap, EachPixelShowsTheFarthestOfItsCells) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 150; ++round) {
    const Matrix matrix = RandomMatrix(random, 1 + random() % 24, 1 + random() % 24, 2);
    const std::size_t rows = matrix.order.size();
    HeatView view{random() % rows, 0, random() % matrix.columns, 0};
    view.row_end = view.row_begin + 1 + random() % (rows - view.row_begin);
    view.column_end = view.column_begin + 1 + random() % (matrix.columns - view.column_begin);
    const int width = 1 + static_cast<int>(random() % 30),
              height = 1 + static_cast<int>(random() % 30);
    const auto pixels = CellsOfPixels(matrix.cells(), view, width, height);
    ASSERT_EQ(pixels.size(), static_cast<std::size_t>(width * height));
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x)
        ASSERT_EQ(pixels[static_cast<std::size_t>(y * width + x)],
                  PlainCell(matrix, view, x, y, width, height))
            << round << ": " << x << "," << y;
  }
}

TEST(HeatMap, AnOddCellIsSeenAtAnyZoomAndOnSeveralThreads) {
  constexpr std::size_t kRows = 3000, kColumns = 900;  // more than one thread is worth
  Matrix matrix{std::vector<double>(kRows * kColumns, 7),
                std::vector<std::uint32_t>(kRows, 0),
                std::vector<std::uint32_t>(kRows),
                kColumns,
                {}};
  std::iota(matrix.order.begin(), matrix.order.end(), 0u);
  const std::size_t odd = 1234 * kColumns + 567;
  matrix.values[odd] = 6;
  matrix.medians = GroupMedians(matrix.values, matrix.groups, 1, kColumns);
  const auto pixels = CellsOfPixels(matrix.cells(), {0, kRows, 0, kColumns}, 100, 50);
  EXPECT_EQ(std::count(pixels.begin(), pixels.end(), static_cast<std::int64_t>(odd)), 1);
  EXPECT_EQ(std::count(pixels.begin(), pixels.end(), kNoCell), 0);
  std::stop_source stop;
  stop.request_stop();
  const auto stopped =
      CellsOfPixels(matrix.cells(), {0, kRows, 0, kColumns}, 100, 50, stop.get_token());
  EXPECT_EQ(std::count(stopped.begin(), stopped.end(), kNoCell), 100 * 50);
}

TEST(HeatMap, NothingToShowIsNothing) {
  EXPECT_TRUE(CellsOfPixels({}, {}, 10, 10).empty());
  EXPECT_TRUE(CellsOfPixels({}, {0, 1, 0, 1}, 0, 10).empty());
  EXPECT_TRUE(GroupMedians({}, {}, 0, 0).empty());
}

TEST(HeatMap, ZoomsAtAPlaceAndStaysInside) {
  const auto range = [](HeatRange of) { return Pair(of.begin, of.end); };
  EXPECT_EQ(range(ZoomRange({0, 100}, 0, 0.5, 100)), Pair(0, 50));
  EXPECT_EQ(range(ZoomRange({0, 100}, 1, 0.5, 100)), Pair(50, 100));
  EXPECT_EQ(range(ZoomRange({40, 60}, 0.5, 2, 100)), Pair(30, 70));
  EXPECT_EQ(range(ZoomRange({90, 100}, 0.5, 4, 100)), Pair(60, 100));
  EXPECT_EQ(range(ZoomRange({3, 5}, 0, 0.9, 8)), Pair(3, 4)) << "at least one";
  EXPECT_EQ(range(ZoomRange({3, 4}, 0, 0.5, 8)), Pair(3, 4));
  EXPECT_EQ(range(ZoomRange({3, 4}, 0, 1.1, 8)), Pair(3, 5));
  EXPECT_EQ(range(ZoomRange({0, 8}, 0.5, 9, 8)), Pair(0, 8));
  EXPECT_EQ(range(MoveRange({2, 4}, 3, 10)), Pair(5, 7));
  EXPECT_EQ(range(MoveRange({2, 4}, -9, 10)), Pair(0, 2));
  EXPECT_EQ(range(MoveRange({2, 4}, 99, 10)), Pair(8, 10));
}

}  // namespace
}  // namespace memprof::viewer
