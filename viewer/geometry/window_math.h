// Zooming and panning of a time window within its bounds. Pure; thread-safe.
#pragma once

#include "analysis/base/types.h"

namespace memprof::viewer {

// The narrowest window, so that a pixel always stands for some time.
inline constexpr analysis::TimeNs kMinWindowNs = 100;

// `window` moved and cut such that it lies in `bounds` and is at least kMinWindowNs wide (or as
// wide as the bounds, if these are narrower).
analysis::TimeWindow Clamp(analysis::TimeWindow window, analysis::TimeWindow bounds);

// The window made `factor` times as wide (< 1 zooms in); `anchor` keeps its position on the screen.
analysis::TimeWindow ZoomAt(analysis::TimeWindow window, analysis::TimeNs anchor, double factor,
                            analysis::TimeWindow bounds);

// The window moved by `delta_ns` (positive: later) without changing its width; stops at the bounds.
analysis::TimeWindow Pan(analysis::TimeWindow window, double delta_ns, analysis::TimeWindow bounds);

// The two instants in order, as a window within the bounds.
analysis::TimeWindow Brush(analysis::TimeNs a, analysis::TimeNs b, analysis::TimeWindow bounds);

}  // namespace memprof::viewer
