// One pixel column after the other of a stacked timeline. Pure; thread-safe.
//
// A column may stand for thousands of events. Every band keeps the exact maximum and minimum that
// its upper edge has within the column, so that no peak of any layer is ever hidden: up to the
// minimum the band was there all the time, between minimum and maximum only at times. Where a
// column holds more than a thousand events, its ends may be off by a sixteenth of it.
#pragma once

#include <cstdint>
#include <vector>

#include "viewer/geometry/axis.h"
#include "viewer/geometry/timeline_bands.h"

namespace memprof::viewer {

struct TimelineColumns {
  analysis::TimeWindow window;
  const StepClock* clock = nullptr;  // of the scale that they were made for
  int columns = 0;
  std::vector<std::vector<std::uint64_t>> low, high;  // [band][column]: bytes up to its edge

  // Whether they are what MakeColumns would make for this scale.
  bool Fit(const TimeScale& scale, int wanted) const {
    return columns == wanted && clock == scale.clock && window.begin == scale.window.begin &&
           window.end == scale.window.end;
  }
  // The band that is drawn at so many bytes in a column, -1 above all of them. Where a band is
  // there only at times, that band.
  int BandAt(int column, std::uint64_t bytes) const;
};

// Cost: O(columns * (bands * log events + 256)).
TimelineColumns MakeColumns(const TimelineBands& bands, const TimeScale& scale, int columns);

// What the vertical axis must show: the highest value, with room above it, and the capacity where
// it is near enough (at most 1.6 times the highest value) to be worth the space.
struct AxisRange {
  std::uint64_t max_bytes = 1;
  bool shows_capacity = false;
};
AxisRange ChooseAxis(std::uint64_t highest, std::uint64_t capacity);

}  // namespace memprof::viewer
