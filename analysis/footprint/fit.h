// Fits how the size of a request grows with the size of the input, from a few runs of different
// size.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace memprof::analysis {

// One run: the size of its input (a batch, a number of tokens, …) and the requested bytes. Where
// these are not known exactly, the least and the most that they may have been.
struct SizeObservation {
  std::uint64_t batch = 0;
  std::uint64_t bytes = 0;  // the most
  std::uint64_t least = 0;  // 0 = as `bytes`

  bool operator==(const SizeObservation&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const SizeObservation& o) {
    return H::combine(std::move(h), o.batch, o.bytes, o.least);
  }
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
  // Whether another law is possible, and that law.
  bool unsure = false;
  double other_fixed = 0, other_per_unit = 0;

  // Rounded; at least 1, because no request has 0 bytes.
  std::uint64_t At(std::uint64_t batch) const;
  // By the other law, if there is one.
  std::uint64_t OtherAt(std::uint64_t batch) const;
};

// `observations`: at least one, in any order; several of one size are averaged. With two sizes a
// line always fits: it is called linear if its slope is a whole number of bytes and its value at 0
// is not negative. With more, a line through the smallest and the largest, or a parabola through
// these and the middle one, must meet the rest within 512 bytes or 0.1 %.
// Where only ranges are known: one size, else in proportion, else a line, of the roundest numbers
// that are possible (sizes are products of dimensions, of which many are powers of two).
SizeModel FitSize(std::vector<SizeObservation> observations);

// The laws of requests whose sizes are known, for those that are known less well: a program has
// many tensors of one shape. Add() all, then Fit(). Not thread-safe.
class SizeLaws {
 public:
  // Ignores what is not known to 512 bytes, or has no law.
  void Add(const std::vector<SizeObservation>& observations);
  // Of the laws that are possible here, the one that holds for most requests; the next one is the
  // other possibility. If none is, FitSize.
  SizeModel Fit(const std::vector<SizeObservation>& observations);

 private:
  // Sets the slope of a small request in proportion, which rounding hides, to the one that the most
  // known slopes are multiples of: the rows of a batch have some size, and tensors have columns.
  void Sharpen(const std::vector<SizeObservation>& points, SizeModel* model) const;
  // For a large one in proportion that has none of the known slopes: a small multiple or part of
  // the one that most requests have.
  void Relate(const std::vector<SizeObservation>& points, SizeModel* model) const;

  struct Law {
    SizeModel model;
    std::uint64_t requests = 0;
  };
  // Of sizes in proportion, those of the most requests: enough to judge by, also in large programs.
  const std::vector<const Law*>& Common() const;

  std::map<std::pair<double, double>, Law> laws_;  // by fixed and per_unit
  mutable std::vector<const Law*> common_;         // set by the first call of Common()
  absl::flat_hash_map<std::vector<SizeObservation>, SizeModel> fitted_;
};

}  // namespace memprof::analysis
