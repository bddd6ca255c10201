// One pixel column after the other of a stacked timeline. Pure; thread-safe.
//
// A column may stand for thousands of events. Its height is the exact maximum of the sum within
// it, so that no peak is ever hidden; the bands share that height in proportion to their own
// maxima there. The minimum of the sum says how far memory fell within the column.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/types.h"
#include "viewer/geometry/timeline_bands.h"

namespace memprof::viewer {

struct TimelineColumns {
  analysis::TimeWindow window;
  int columns = 0;
  std::vector<std::vector<double>> band_top;  // [band][column]: bytes up to its upper edge
  std::vector<std::uint64_t> low, high;       // of the sum within the column
};

// Cost: O(bands * columns * log events).
TimelineColumns MakeColumns(const TimelineBands& bands, analysis::TimeWindow window, int columns);

// The values of every band at one instant, bottom first.
std::vector<std::uint64_t> ValuesAt(const TimelineBands& bands, analysis::TimeNs time);

// What the vertical axis must show: the highest value, with room above it, and the capacity where
// it is near enough (at most 1.6 times the highest value) to be worth the space.
struct AxisRange {
  std::uint64_t max_bytes = 1;
  bool shows_capacity = false;
};
AxisRange ChooseAxis(std::uint64_t highest, std::uint64_t capacity);

}  // namespace memprof::viewer
