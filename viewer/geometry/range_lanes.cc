// The positions of named ranges above the timeline.
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

RangeIndex::RangeIndex(std::span<const RangeInfo> ranges, int max_rows) : ranges_(ranges) {
  int total = 0;
  const std::map<std::uint32_t, int> first_row = RowsOfThreads(ranges, &total);
  by_row_.resize(static_cast<std::size_t>(std::min(total, max_rows)));
  hidden_ = total - rows();
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const int row = first_row.at(ranges[i].thread) + ranges[i].depth;
    if (row < rows())
      by_row_[static_cast<std::size_t>(row)].push_back(static_cast<std::uint32_t>(i));
  }
  for (std::vector<std::uint32_t>& row : by_row_) {
    std::stable_sort(row.begin(), row.end(), [&](std::uint32_t a, std::uint32_t b) {
      return ranges[a].begin < ranges[b].begin;
    });
  }
}

RangeLanes RangeIndex::LayOut(const TimeScale& scale, double min_width) const {
  RangeLanes lanes;
  lanes.rows = rows();
  lanes.hidden = hidden_;
  for (int row = 0; row < rows(); ++row) LayOutRow(row, scale, min_width, &lanes);
  return lanes;
}

void RangeIndex::LayOutRow(int row, const TimeScale& scale, double min_width,
                           RangeLanes* lanes) const {
  const std::vector<std::uint32_t>& order = by_row_[static_cast<std::size_t>(row)];
  // The first range that begins at `time` or later.
  const auto from = [&](analysis::TimeNs time) {
    const auto it = std::lower_bound(
        order.begin(), order.end(), time,
        [&](std::uint32_t range, analysis::TimeNs t) { return ranges_[range].begin < t; });
    return static_cast<std::size_t>(it - order.begin());
  };
  const double right = scale.left + scale.width;
  const std::size_t first_box = lanes->boxes.size();
  std::size_t i = from(scale.window.begin);
  if (i > 0) --i;  // that range may extend into the window
  for (; i < order.size() && ranges_[order[i]].begin < scale.window.end; ++i) {
    const RangeInfo& range = ranges_[order[i]];
    if (range.end <= scale.window.begin) continue;
    RangeBox box{order[i], 1, row, std::max(scale.X(range.begin), scale.left),
                 std::min(scale.X(range.end), right)};
    if (box.right - box.left < min_width) {
      // All ranges that end within `min_width` of the box's begin are joined in one box: skips them
      // at once.
      const std::size_t beyond = from(scale.At(box.left + min_width));
      if (beyond > i + 2) {
        const std::size_t last = beyond - 2;  // ends before the next one begins
        box.count += last - i;
        box.right = std::min(std::max(box.right, scale.X(ranges_[order[last]].end)), right);
        i = last;
      }
    }
    RangeBox* before = lanes->boxes.size() > first_box ? &lanes->boxes.back() : nullptr;
    const bool joins = before != nullptr && (box.count > 1 || box.right - box.left < min_width) &&
                       box.left - before->right < min_width &&
                       (before->count > 1 || before->right - before->left < min_width);
    if (joins) {
      before->count += box.count;
      before->right = std::max(before->right, box.right);
    } else {
      lanes->boxes.push_back(box);
    }
  }
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
