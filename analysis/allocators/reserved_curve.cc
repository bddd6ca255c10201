// Bytes reserved over time in a bounded number of points.
#include "analysis/allocators/reserved_curve.h"

#include <algorithm>

namespace memprof::analysis {

void ReservedCurve::Add(TimeNs time, std::uint64_t bytes) {
  if (!points_.empty() && bytes == last_) return;
  last_ = bytes;
  if (!points_.empty() && in_last_ < stride_) {
    points_.back().bytes = std::max(points_.back().bytes, bytes);
    ++in_last_;
    return;
  }
  if (points_.size() >= 2 * most_) Halve();
  points_.push_back({time, bytes});
  in_last_ = 1;
}

void ReservedCurve::Halve() {
  std::size_t kept = 0;
  for (std::size_t i = 0; i + 1 < points_.size(); i += 2) {
    points_[kept++] = {points_[i].time, std::max(points_[i].bytes, points_[i + 1].bytes)};
  }
  points_.resize(kept);
  stride_ *= 2;
}

std::vector<std::uint64_t> MostInColumns(std::span<const CurvePoint> curve,
                                         std::span<const TimeNs> edges) {
  std::vector<std::uint64_t> most(edges.empty() ? 0 : edges.size() - 1);
  std::size_t next = 0;  // the first point not before the column's begin
  for (std::size_t column = 0; column < most.size(); ++column) {
    while (next < curve.size() && curve[next].time <= edges[column]) ++next;
    // Of several points at one time, all but the last have no duration, but one may be the peak.
    std::size_t at = next == 0 ? 0 : next - 1;
    while (at > 0 && curve[at - 1].time == edges[column]) --at;
    for (; at < curve.size() && (at < next || curve[at].time < edges[column + 1]); ++at) {
      most[column] = std::max(most[column], curve[at].bytes);
    }
  }
  return most;
}

}  // namespace memprof::analysis
