// The alignment against a plain table of lengths.
#include "analysis/base/alignment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace memprof::analysis {
namespace {

struct Problem {
  std::vector<std::uint32_t> rows;
  std::vector<ColumnSet> fits;
  std::uint32_t columns = 0;

  bool Fits(std::size_t row, std::uint32_t column) const {
    return (fits[rows[row]][column / 64] >> (column % 64) & 1) != 0;
  }
};

Problem Random(std::uint32_t seed) {
  std::mt19937 random(seed);
  Problem problem;
  problem.columns = random() % 200;
  const std::uint32_t kinds = 1 + random() % 8, rare = 1 + random() % 12;
  problem.fits.assign(kinds, ColumnSet((problem.columns + 63) / 64));
  for (ColumnSet& set : problem.fits)
    for (std::uint32_t c = 0; c < problem.columns; ++c)
      if (random() % rare == 0) set[c / 64] |= std::uint64_t{1} << c % 64;
  problem.rows.resize(random() % 150);
  for (std::uint32_t& row : problem.rows) row = random() % kinds;
  return problem;
}

// length[row][column]: the best length for the rows from `row` on and the columns below `column`.
std::vector<std::vector<int>> Lengths(const Problem& problem) {
  std::vector<std::vector<int>> length(problem.rows.size() + 1,
                                       std::vector<int>(problem.columns + 1, 0));
  for (std::size_t row = problem.rows.size(); row-- > 0;) {
    for (std::uint32_t column = 1; column <= problem.columns; ++column) {
      length[row][column] = std::max(length[row + 1][column], length[row][column - 1]);
      if (problem.Fits(row, column - 1))
        length[row][column] = std::max(length[row][column], length[row + 1][column - 1] + 1);
    }
  }
  return length;
}

TEST(AlignmentTest, IsTheLongestAndTakesTheHighestColumnsFirst) {
  for (std::uint32_t seed = 1; seed <= 2000; ++seed) {
    const Problem problem = Random(seed);
    const std::vector<std::uint32_t> pairs = Align(problem.rows, problem.fits, problem.columns);
    ASSERT_EQ(pairs.size(), problem.rows.size());
    const std::vector<std::vector<int>> length = Lengths(problem);
    std::uint32_t column = problem.columns;
    for (std::size_t row = 0; row < pairs.size(); ++row) {
      // The highest column that still allows the best length for the rest.
      std::uint32_t wanted = kUnaligned;
      for (std::uint32_t c = column; c-- > 0 && wanted == kUnaligned;)
        if (problem.Fits(row, c) && length[row + 1][c] + 1 == length[row][column]) wanted = c;
      ASSERT_EQ(pairs[row], wanted) << "seed " << seed << ", row " << row;
      if (wanted != kUnaligned) column = wanted;
    }
  }
}

TEST(AlignmentTest, OfNothingIsNothing) {
  EXPECT_TRUE(Align({}, {}, 0).empty());
  const std::vector<std::uint32_t> rows = {0, 0};
  EXPECT_EQ(Align(rows, {ColumnSet()}, 0), (std::vector<std::uint32_t>{kUnaligned, kUnaligned}));
  EXPECT_EQ(Align(rows, {ColumnSet{0}}, 64), (std::vector<std::uint32_t>{kUnaligned, kUnaligned}));
}

TEST(AlignmentTest, ManyRowsAreDoneInPieces) {
  Problem problem;
  problem.columns = 3 * kMaxRows;
  problem.fits.assign(7, ColumnSet((problem.columns + 63) / 64));
  for (std::uint32_t c = 0; c < problem.columns; ++c)
    problem.fits[c % 7][c / 64] |= std::uint64_t{1} << c % 64;
  // Only every second column matches a row.
  for (std::uint32_t c = problem.columns; c-- > 0;)
    if (c % 2 == 0) problem.rows.push_back(c % 7);
  ASSERT_GT(problem.rows.size(), kMaxRows);
  const std::vector<std::uint32_t> pairs = Align(problem.rows, problem.fits, problem.columns);
  std::uint32_t column = problem.columns;
  for (std::size_t row = 0; row < pairs.size(); ++row) {
    ASSERT_LT(pairs[row], column) << row;
    column = pairs[row];
    ASSERT_TRUE(problem.Fits(row, column)) << row;
  }
}

}  // namespace
}  // namespace memprof::analysis
