// Two sequences of which each lacks some of what the other has: which of their members belong
// together. Knows nothing of sessions.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace memprof::analysis {

// A set of columns: bit c % 64 of word c / 64.
using ColumnSet = std::vector<std::uint64_t>;

inline constexpr std::uint32_t kUnaligned = 0xffffffff;

// The column of each row, or kUnaligned: columns descend as rows ascend, each fits its row, and no
// other choice pairs more rows. Of such choices it is the one that gives earlier rows higher
// columns. `rows` are indices of `fits`, whose sets have room for `columns` columns.
//
// The longest common subsequence, for any relation in place of equality, by the bit-parallel method
// of H. Hyyrö, "Bit-parallel LCS-length computation revisited" (AWOCA 2004): rows * columns / 64
// steps and rows * columns / 8 bytes. Above kMaxRows rows it is done in pieces, and need not be
// the longest.
inline constexpr std::size_t kMaxRows = 16384;
std::vector<std::uint32_t> Align(absl::Span<const std::uint32_t> rows,
                                 const std::vector<ColumnSet>& fits, std::uint32_t columns);

}  // namespace memprof::analysis
