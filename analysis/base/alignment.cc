// The table of lengths in bits, and the walk that finds the pairs from it.
#include "analysis/base/alignment.h"

#include <algorithm>
#include <bit>

namespace memprof::analysis {
namespace {

// lines_[i] has a 0 where one more column lengthens the longest common subsequence of the rows from
// i on and the columns up to it: so the zeros of a line up to a column count its length.
class Table {
 public:
  Table(absl::Span<const std::uint32_t> rows, const std::vector<ColumnSet>& fits,
        std::uint32_t columns)
      : rows_(rows), fits_(fits), words_((columns + 63) / 64) {
    lines_.assign((rows.size() + 1) * words_, ~std::uint64_t{0});
    for (std::size_t i = rows.size(); i-- > 0;) Fill(i);
  }

  // Calls take(row, column) for each pair.
  template <typename Take>
  void Walk(std::uint32_t columns, Take take) const {
    std::uint64_t length = Length(0, columns);
    for (std::size_t row = 0; length > 0; ++row) {
      // A column is the row's own if the rows after it can be one shorter below it: it lies behind
      // the zero of the next line that makes them so long, up to the next zero.
      const std::uint64_t* next = Line(row + 1);
      const bool as_long = Length(row + 1, columns) == length;
      const std::uint32_t end = as_long ? HighestZero(next, columns) : columns;
      const std::uint32_t begin = HighestZero(next, as_long ? end - 1 : end);
      const std::uint32_t column = HighestOne(fits_[rows_[row]].data(), begin, end);
      if (column == kUnaligned) continue;
      take(row, column);
      columns = column;
      --length;
    }
  }

 private:
  const std::uint64_t* Line(std::size_t row) const { return lines_.data() + row * words_; }
  // One more than the highest zero below `end`; 0 if there is none.
  static std::uint32_t HighestZero(const std::uint64_t* line, std::uint32_t end) {
    for (std::uint32_t top = end; top > 0;) {
      const std::uint32_t word = (top - 1) / 64;
      const std::uint64_t zeros = ~line[word] & Below(top - word * 64);
      if (zeros != 0) return word * 64 + static_cast<std::uint32_t>(std::bit_width(zeros));
      top = word * 64;
    }
    return 0;
  }
  // The highest one from `begin` on and below `end`, or kUnaligned.
  static std::uint32_t HighestOne(const std::uint64_t* set, std::uint32_t begin,
                                  std::uint32_t end) {
    for (std::uint32_t top = end; top > begin;) {
      const std::uint32_t word = (top - 1) / 64;
      const std::uint64_t ones = set[word] & Below(top - word * 64);
      if (ones != 0) {
        const std::uint32_t at = word * 64 + static_cast<std::uint32_t>(std::bit_width(ones)) - 1;
        return at >= begin ? at : kUnaligned;
      }
      top = word * 64;
    }
    return kUnaligned;
  }
  // The lowest `count` bits, 64 at most.
  static std::uint64_t Below(std::uint32_t count) {
    return count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
  }
  void Fill(std::size_t row) {
    const std::uint64_t* below = Line(row + 1);
    std::uint64_t* line = lines_.data() + row * words_;
    const ColumnSet& fit = fits_[rows_[row]];
    std::uint64_t carry = 0;
    for (std::size_t w = 0; w < words_; ++w) {
      const std::uint64_t both = below[w] & fit[w], sum = below[w] + both, all = sum + carry;
      carry = static_cast<std::uint64_t>(sum < both) | static_cast<std::uint64_t>(all < sum);
      line[w] = all | (below[w] & ~fit[w]);
    }
  }
  // The length for the rows from `row` on and the columns below `column`.
  std::uint64_t Length(std::size_t row, std::uint32_t column) const {
    const std::uint64_t* line = Line(row);
    std::uint64_t length = 0;
    for (std::uint32_t w = 0; w < column / 64; ++w) length += std::popcount(~line[w]);
    if (column % 64 != 0) length += std::popcount(~line[column / 64] & Below(column % 64));
    return length;
  }

  const absl::Span<const std::uint32_t> rows_;
  const std::vector<ColumnSet>& fits_;
  const std::size_t words_;
  std::vector<std::uint64_t> lines_;
};

}  // namespace

std::vector<std::uint32_t> Align(absl::Span<const std::uint32_t> rows,
                                 const std::vector<ColumnSet>& fits, std::uint32_t columns) {
  std::vector<std::uint32_t> pairs(rows.size(), kUnaligned);
  for (std::size_t begin = 0; begin < rows.size() && columns > 0;) {
    const bool last = rows.size() - begin <= kMaxRows;
    const absl::Span<const std::uint32_t> piece = rows.subspan(begin, kMaxRows);
    // The columns of the end of a piece may fit later rows better, so only its first half is kept.
    const std::size_t kept = last ? piece.size() : kMaxRows / 2;
    std::uint32_t left = columns;
    Table(piece, fits, columns).Walk(columns, [&](std::size_t row, std::uint32_t column) {
      if (row >= kept) return;
      pairs[begin + row] = column;
      left = column;
    });
    columns = left;
    begin += kept;
  }
  return pairs;
}

}  // namespace memprof::analysis
