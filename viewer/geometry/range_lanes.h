// Where the named ranges of a program (memprof_range_push and _pop) lie above the timeline: a row
// for each depth of nesting of each thread. Pure; thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/session.h"
#include "viewer/geometry/axis.h"

namespace memprof::viewer {

struct RangeBox {
  std::size_t first = 0;  // index of its first range
  std::size_t count = 1;  // more: ranges too thin to be told apart, drawn as one
  int row = 0;            // from the top: outer ranges above inner ones, threads in order
  double left = 0, right = 0;
};

struct RangeLanes {
  int rows = 0;
  int hidden = 0;               // rows beyond the limit
  std::vector<RangeBox> boxes;  // by row, then from left to right
};

// At most `max_rows` rows, the same whatever the window is, so that nothing jumps when it moves.
// Boxes narrower than `min_width` that follow each other closer than that become one. Cost:
// O(n log n) of all ranges.
RangeLanes LayOutRanges(std::span<const analysis::RangeInfo> ranges, const TimeScale& scale,
                        int max_rows, double min_width = 3);

// The box at a position of a row, -1 for none. Thin boxes are met up to two pixels beside them.
int HitRange(const RangeLanes& lanes, int row, double x);

}  // namespace memprof::viewer
