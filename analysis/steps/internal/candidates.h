// Periods that a token stream may have, and which of two is more likely its steps.
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
  double swing = 0;  // what a window has live at most that it gives back
  bool trains = false;
  bool Good() const;
  // How regularly it repeats. Whether memory comes back to its lowest is no part of it: a leak, a
  // cache or the next batch keep it from that, and repeat all the same.
  double Score() const;
};

// The middle `most` of `cuts`.
std::span<const std::uint32_t> MiddleOf(const Positions& cuts, std::size_t most);

// The relative spread of the distances between `positions`.
double Irregularity(std::span<const std::uint32_t> positions);

// Of two good periods the finer one is the step: two steps repeat as well as one. Unless its
// windows are parts of the other's. `hint` as in FindPeriod.
bool IsBetter(const TokenStream& stream, const Candidate& candidate, const Candidate& best,
              std::uint32_t hint);

// In [0, 1]. Levels that come back, or the same order each time: either tells a loop from chance.
double Confidence(const TokenStream& stream, const Candidate& candidate);

}  // namespace memprof::analysis
