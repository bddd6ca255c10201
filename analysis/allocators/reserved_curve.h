// Reserved bytes over time, in a bounded number of points that keeps every peak.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "analysis/base/types.h"

namespace memprof::analysis {

// The most bytes reserved from `time` until the next point. While there are few changes, each is a
// point of its own, and the bytes hold for the whole time.
struct CurvePoint {
  TimeNs time = 0;
  std::uint64_t bytes = 0;

  bool operator==(const CurvePoint&) const = default;
};

class ReservedCurve {
 public:
  // Keeps at most 2 * `points` points; beyond that, neighbours are joined, with the larger bytes.
  explicit ReservedCurve(std::size_t points = 4096) : most_(points == 0 ? 1 : points) {}

  // `bytes` are reserved from `time` on. Times must not decrease.
  void Add(TimeNs time, std::uint64_t bytes);
  std::vector<CurvePoint> Take() { return std::move(points_); }

 private:
  void Halve();

  std::size_t most_;
  std::vector<CurvePoint> points_;
  std::uint64_t last_ = 0;
  std::uint64_t stride_ = 1;   // changes in a point
  std::uint64_t in_last_ = 0;  // changes in the last point
};

// The most bytes reserved in each of the edges.size() - 1 columns [edges[i], edges[i + 1]),
// including the value at its begin; 0 before the first point. `edges` must not decrease. O(points +
// columns).
std::vector<std::uint64_t> MostInColumns(std::span<const CurvePoint> curve,
                                         std::span<const TimeNs> edges);

}  // namespace memprof::analysis
