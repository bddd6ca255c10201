// Where the named ranges of a program lie above the timeline.
#include "viewer/geometry/range_lanes.h"

#include <algorithm>
#include <map>

namespace memprof::viewer {

using analysis::RangeInfo;

namespace {

// First row of each thread: the rows of the threads before it.
std::map<std::uint32_t, int> RowsOfThreads(std::span<const RangeInfo> ranges, int* total) {
  std::map<std::uint32_t, int> rows;
  for (const RangeInfo& range : ranges) {
    int& depths = rows[range.thread];
    depths = std::max(depths, range.depth + 1);
  }
  *total = 0;
  for (auto& [thread, depths] : rows) {
    const int before = *total;
    *total += depths;
    depths = before;
  }
  return rows;
}

}  // namespace

RangeLanes LayOutRanges(std::span<const RangeInfo> ranges, const TimeScale& scale, int max_rows,
                        double min_width) {
  RangeLanes lanes;
  int total = 0;
  const std::map<std::uint32_t, int> first_row = RowsOfThreads(ranges, &total);
  lanes.rows = std::min(total, max_rows);
  lanes.hidden = total - lanes.rows;
  const double right = scale.left + scale.width;
  std::vector<RangeBox> boxes;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const RangeInfo& range = ranges[i];
    const int row = first_row.at(range.thread) + range.depth;
    if (row >= lanes.rows || range.begin >= scale.window.end || range.end <= scale.window.begin) {
      continue;
    }
    boxes.push_back({i, 1, row, std::max(scale.X(range.begin), scale.left),
                     std::min(scale.X(range.end), right)});
  }
  std::stable_sort(boxes.begin(), boxes.end(), [](const RangeBox& a, const RangeBox& b) {
    return a.row != b.row ? a.row < b.row : a.left < b.left;
  });
  for (const RangeBox& box : boxes) {
    RangeBox* last = lanes.boxes.empty() ? nullptr : &lanes.boxes.back();
    const bool joins = last != nullptr && last->row == box.row &&
                       box.right - box.left < min_width && box.left - last->right < min_width &&
                       (last->count > 1 || last->right - last->left < min_width);
    if (joins) {
      ++last->count;
      last->right = std::max(last->right, box.right);
    } else {
      lanes.boxes.push_back(box);
    }
  }
  return lanes;
}

int HitRange(const RangeLanes& lanes, int row, double x) {
  int best = -1;
  double best_distance = 2;
  for (std::size_t i = 0; i < lanes.boxes.size(); ++i) {
    const RangeBox& box = lanes.boxes[i];
    if (box.row != row) continue;
    if (x >= box.left && x < box.right) return static_cast<int>(i);
    const double distance = x < box.left ? box.left - x : x - box.right;
    if (distance > best_distance) continue;
    best = static_cast<int>(i);
    best_distance = distance;
  }
  return best;
}

}  // namespace memprof::viewer
