// Bytes reserved over time in a bounded number of points, none of which hides a peak.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "analysis/base/types.h"

namespace memprof::analysis {

// From `time` until the next point at most `bytes` were reserved, and at some instant of it that
// much. While there are few changes, each is a point of its own, and the bytes hold throughout.
struct CurvePoint {
  TimeNs time = 0;
  std::uint64_t bytes = 0;

  bool operator==(const CurvePoint&) const = default;
};

class ReservedCurve {
 public:
  // Keeps at most 2 * `points` of them: above, neighbours become one with the larger bytes.
  explicit ReservedCurve(std::size_t points = 4096) : most_(points == 0 ? 1 : points) {}

  // `bytes` are reserved from `time` on. Times rise weakly.
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

// The most bytes reserved in each of edges.size() - 1 columns [edges[i], edges[i + 1]), with what
// holds at its begin; 0 before the first point. `edges` rise weakly. O(points + columns).
std::vector<std::uint64_t> MostInColumns(std::span<const CurvePoint> curve,
                                         std::span<const TimeNs> edges);

}  // namespace memprof::analysis
