// The pixel columns of a stacked timeline. Pure; thread-safe.
//
// A column may stand for thousands of events. Each band has the exact minimum and maximum of its
// upper edge within the column, so that no peak of any layer is hidden: below the minimum the band
// was present all the time, between minimum and maximum only at times. In a column with more than a
// thousand events, the ends may be off by a sixteenth of it.
#pragma once

#include <cstdint>
#include <vector>

#include "viewer/geometry/axis.h"
#include "viewer/geometry/byte_window.h"
#include "viewer/geometry/timeline_bands.h"

namespace memprof::viewer {

struct TimelineColumns {
  analysis::TimeWindow window;
  const StepClock* clock = nullptr;  // of the scale for which they were made
  int columns = 0;
  std::vector<std::vector<std::uint64_t>> low, high;  // [band][column]: bytes up to its edge
  std::vector<std::uint64_t> in_use;                  // [column]: the most of all groups
  std::vector<analysis::TimeNs> edges;                // where columns begin, and the last one ends

  // Whether MakeColumns would make the same columns for this scale.
  bool Fit(const TimeScale& scale, int wanted) const {
    return columns == wanted && clock == scale.clock && window.begin == scale.window.begin &&
           window.end == scale.window.end;
  }
  // The band drawn at this height in a column, -1 above all of them; also a band that is present
  // only at times.
  int BandAt(int column, std::uint64_t bytes) const;
};

// Cost: O(columns * (bands * log events + 256)). `before`: columns of the same bands; those that
// are seen in this scale too, after the window has moved, are copied.
TimelineColumns MakeColumns(const TimelineBands& bands, const TimeScale& scale, int columns,
                            const TimelineColumns& before = {});

// The columns as they are drawn: what is narrower than `width` columns is as wide as that, so that
// it is seen, and only the bytes in `shown` are left, from 0.
TimelineColumns ForDrawing(const TimelineColumns& columns, int width, const ByteWindow& shown);

// What varies in the columns, with some space around it: from the least that was in use to the
// most, of the bands below `bands`.
ByteWindow FitBytes(const TimelineColumns& columns, std::size_t bands, std::uint64_t top);

// The range of the vertical axis: the highest value and some space above it, and the capacity if it
// is near enough (at most 1.6 times the highest value).
struct AxisRange {
  std::uint64_t max_bytes = 1;
  bool shows_capacity = false;
};
AxisRange ChooseAxis(std::uint64_t highest, std::uint64_t capacity);

}  // namespace memprof::viewer
