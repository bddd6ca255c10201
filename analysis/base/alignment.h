// Aligns two sequences, each of which lacks some elements of the other. Independent of sessions.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace memprof::analysis {

// A set of columns: bit c % 64 of word c / 64.
using ColumnSet = std::vector<std::uint64_t>;

inline constexpr std::uint32_t kUnaligned = 0xffffffff;

// The column of each row, or kUnaligned. The columns descend as the rows ascend, each is in the set
// of its row, and no other choice pairs more rows; among equal choices, earlier rows get higher
// columns. `rows` are indices of `fits`, whose sets have `columns` bits.
//
// The longest common subsequence, for any relation instead of equality, by the bit-parallel method
// of H. Hyyrö, "Bit-parallel LCS-length computation revisited" (AWOCA 2004): rows * columns / 64
// steps and rows * columns / 8 bytes. Above kMaxRows rows it works in pieces, and the result may
// not be the longest.
inline constexpr std::size_t kMaxRows = 16384;
std::vector<std::uint32_t> Align(absl::Span<const std::uint32_t> rows,
                                 const std::vector<ColumnSet>& fits, std::uint32_t columns);

}  // namespace memprof::analysis
