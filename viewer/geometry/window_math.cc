// Zooming and panning of a time window within its bounds.
#include "viewer/geometry/window_math.h"

#include <algorithm>
#include <cmath>

namespace memprof::viewer {

using analysis::TimeNs;
using analysis::TimeWindow;

TimeWindow Clamp(TimeWindow window, TimeWindow bounds) {
  const TimeNs whole = bounds.end - bounds.begin;
  const TimeNs wanted = window.end > window.begin ? window.end - window.begin : 0;
  const TimeNs width = std::min(std::max(wanted, kMinWindowNs), whole);
  TimeNs begin = std::max(window.begin, bounds.begin);
  begin = std::min(begin, bounds.end - width);
  return {begin, begin + width};
}

TimeWindow ZoomAt(TimeWindow window, TimeNs anchor, double factor, TimeWindow bounds) {
  const double span = static_cast<double>(window.end - window.begin);
  const double whole = static_cast<double>(bounds.end - bounds.begin);
  const double width = std::clamp(span * factor, static_cast<double>(kMinWindowNs),
                                  std::max(whole, static_cast<double>(kMinWindowNs)));
  const double share =
      span > 0 ? (static_cast<double>(anchor) - static_cast<double>(window.begin)) / span : 0.5;
  // Relative to the bounds: absolute times do not fit a double to the nanosecond.
  const double anchor_in_bounds =
      anchor >= bounds.begin ? static_cast<double>(anchor - bounds.begin) : 0;
  const double begin = std::max(0.0, anchor_in_bounds - share * width);
  const TimeNs begin_ns = bounds.begin + static_cast<TimeNs>(begin);
  return Clamp({begin_ns, begin_ns + static_cast<TimeNs>(std::llround(width))}, bounds);
}

TimeWindow Pan(TimeWindow window, double delta_ns, TimeWindow bounds) {
  const TimeNs width = window.end - window.begin;
  const double offset = static_cast<double>(window.begin - bounds.begin) + delta_ns;
  const TimeNs begin = bounds.begin + static_cast<TimeNs>(std::max(0.0, offset));
  return Clamp({begin, begin + width}, bounds);
}

TimeWindow Brush(TimeNs a, TimeNs b, TimeWindow bounds) {
  const TimeNs begin = std::clamp(std::min(a, b), bounds.begin, bounds.end);
  const TimeNs end = std::clamp(std::max(a, b), bounds.begin, bounds.end);
  return Clamp({begin, end}, bounds);
}

}  // namespace memprof::viewer
