// Fits how the size of a request grows with the size of the input, from a few runs of different
// size.
#pragma once

#include <cstdint>
#include <vector>

namespace memprof::analysis {

// One run: the size of its input (a batch, a number of tokens, …) and the requested bytes.
struct SizeObservation {
  std::uint64_t batch = 0;
  std::uint64_t bytes = 0;
};

enum class Growth {
  kConstant,
  kLinear,     // a whole number of bytes a unit, and not negative at size 0
  kQuadratic,  // needs three sizes or more
  kIrregular,  // none of these: straight lines between and beyond the observations
  kUnknown,    // seen at one size only: taken as constant
};

// bytes(batch) = fixed + per_unit · batch + per_square · batch².
struct SizeModel {
  Growth growth = Growth::kUnknown;
  double fixed = 0, per_unit = 0, per_square = 0;
  std::vector<SizeObservation> points;  // of kIrregular: one for each size, ascending

  // Rounded; at least 1, because no request has 0 bytes.
  std::uint64_t At(std::uint64_t batch) const;
};

// `observations`: at least one, in any order; several of one size are averaged. With two sizes a
// line always fits: it is called linear if its slope is a whole number of bytes and its value at 0
// is not negative. With more, a line through the smallest and the largest, or a parabola through
// these and the middle one, must meet the rest within 512 bytes or 0.1 %.
SizeModel FitSize(std::vector<SizeObservation> observations);

}  // namespace memprof::analysis
