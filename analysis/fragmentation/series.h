// Fragmentation over time, pool by pool. Formulas: docs/fragmentation.md.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/base/progress.h"
#include "analysis/store/session.h"
#include "analysis/timeline/timeline.h"

namespace memprof::analysis {

enum class PoolKind {
  kSegments,       // of a framework's allocator
  kStreamOrdered,  // of the driver: its size is known from samples, the places within it are not
};

// A pool at one instant. For stream-ordered pools only reserved, allocated and free are known, and
// free counts as pinned.
struct PoolState {
  std::uint64_t reserved = 0, allocated = 0;
  std::uint64_t pinned = 0;        // free in segments in use: cannot go back to the driver
  std::uint64_t largest_hole = 0;  // in any segment
  std::uint64_t holes = 0;
  std::uint64_t rounding = 0;  // of blocks in use, beyond what was requested
  double external = 0;         // 1 - largest_hole / free
  double sum_of_squares = 0;   // 1 - sum(f_i^2) / (sum f_i)^2

  std::uint64_t free() const { return reserved - allocated; }
};

// A stretch of time, represented by its worst instant: the first at which most was pinned, and of
// these the first at which most was free.
struct FragmentationPoint {
  TimeNs begin = 0, end = 0;  // [begin, end)
  TimeNs time = 0;            // the instant
  std::int64_t step = -1;
  PoolState state;
};

struct PoolSeries {
  PoolKind kind = PoolKind::kSegments;
  int device = 0;
  std::uint64_t stream = 0;   // of segments
  bool small_blocks = false;  // of segments
  // Stream-ordered: its handle. Segments: their private pool; 0 = none.
  std::uint64_t pool = 0;
  std::vector<FragmentationPoint> points;
  FragmentationPoint worst;  // of all points
};

// One series for each pool that ever held memory, by device, kind, stream, size. All have the same
// points, at most `max_points` (at least 1): the time before the first step and each step, or
// several steps together; in logs without steps, equal times. The worst instant of a point is found
// among all events, so no maximum is hidden. kNoDevice = all devices. O(events × log holes).
std::vector<PoolSeries> BuildFragmentationSeries(const Session& session, int device,
                                                 std::size_t max_points);

// A pool over the whole recorded time, change by change.
struct PoolTimeline {
  PoolSeries pool;                                   // with its points
  Series reserved, allocated, pinned, largest_hole;  // bytes
  Series share;                                      // pinned / reserved, in millionths
  // The most changes between two entries: 1 = every change is stored. If larger, extremes and their
  // times are still exact.
  std::uint64_t stride = 1;
};

// The pools of BuildFragmentationSeries, of all devices. Stores at most `max_groups` (at least 2)
// groups of changes for each curve (ThinnedSeries). `progress` may be empty; if it returns false,
// the result is empty.
std::vector<PoolTimeline> BuildPoolTimelines(const Session& session, std::size_t max_points,
                                             std::size_t max_groups,
                                             const ProgressFunction& progress = {});

}  // namespace memprof::analysis
