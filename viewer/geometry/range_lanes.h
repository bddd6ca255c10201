// The positions of named ranges (memprof_range_push and _pop) above the timeline: a row for each
// depth of nesting of each thread. Pure; thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/store/session.h"
#include "viewer/geometry/axis.h"

namespace memprof::viewer {

struct RangeBox {
  std::size_t first = 0;  // index of its first range
  std::size_t count = 1;  // more: ranges too thin to be separate, drawn as one
  int row = 0;            // from the top: outer ranges above inner ones, threads in order
  double left = 0, right = 0;
};

struct RangeLanes {
  int rows = 0;
  int hidden = 0;               // rows beyond the limit
  std::vector<RangeBox> boxes;  // by row, then from left to right
};

// The ranges of a log by row, so that the layout of a window costs only what the window shows.
// Immutable once made.
class RangeIndex {
 public:
  RangeIndex() = default;
  // At most `max_rows` rows, the same for every window, so that ranges do not jump when it moves.
  // `ranges` must outlive the index. O(n log n).
  RangeIndex(std::span<const analysis::RangeInfo> ranges, int max_rows);

  int rows() const { return static_cast<int>(by_row_.size()); }
  int hidden() const { return hidden_; }

  // Joins boxes that are narrower than `min_width` and less than that apart. Ranges of one row do
  // not overlap. O(pixels × rows × log n).
  RangeLanes LayOut(const TimeScale& scale, double min_width = 3) const;

 private:
  void LayOutRow(int row, const TimeScale& scale, double min_width, RangeLanes* lanes) const;

  std::span<const analysis::RangeInfo> ranges_;
  std::vector<std::vector<std::uint32_t>> by_row_;  // by begin
  int hidden_ = 0;
};

// The box at a position of a row, -1 for none; thin boxes are hit up to two pixels beside them.
int HitRange(const RangeLanes& lanes, int row, double x);

}  // namespace memprof::viewer
