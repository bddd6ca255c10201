// Possible periods of a token stream, and which of two is more likely the steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "analysis/steps/internal/pattern.h"

namespace memprof::analysis {

inline constexpr std::size_t kMinCuts = 3;           // that make a period
inline constexpr std::size_t kWindowsLookedAt = 24;  // at most

using Positions = std::vector<std::uint32_t>;

struct Candidate {
  Positions begins;
  double common = 0, weighted = 0, closed = 0, covered = 0, returned = 0;
  double swing = 0;  // the most live memory in a window that it frees again
  bool trains = false;
  bool Good() const;
  // How regular the repetition is. Independent of whether memory returns to its lowest: with a
  // leak, a cache or the next batch it does not, and the loop repeats all the same.
  double Score() const;
};

// The middle `most` of `cuts`.
std::span<const std::uint32_t> MiddleOf(const Positions& cuts, std::size_t most);

// The relative spread of the distances between `positions`.
double Irregularity(std::span<const std::uint32_t> positions);

// Of two good periods the finer one is the step, because two steps repeat as well as one; unless
// its windows are parts of the other's. `hint` as in FindPeriod.
bool IsBetter(const TokenStream& stream, const Candidate& candidate, const Candidate& best,
              std::uint32_t hint);

// In [0, 1]. High if levels return, or if the order is the same each time: either distinguishes a
// loop from chance.
double ConfidenceIn(const TokenStream& stream, const Candidate& candidate);

}  // namespace memprof::analysis
