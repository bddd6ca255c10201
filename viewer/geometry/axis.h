// Scales and ticks of axes: bytes upwards, time and training steps along. Pure; thread-safe.
#pragma once

#include <QString>
#include <cstdint>
#include <span>
#include <vector>

#include "analysis/base/types.h"
#include "analysis/store/session.h"
#include "viewer/geometry/step_clock.h"

namespace memprof::viewer {

// Maps recorded time to horizontal positions: window.begin at `left`, window.end at left + width.
// Linear in time or, with a clock, in steps.
struct TimeScale {
  analysis::TimeWindow window;
  double left = 0;
  double width = 1;
  const StepClock* clock = nullptr;  // null = time; else it must outlive the scale

  double X(analysis::TimeNs time) const;
  // The time under a position, clamped to the window.
  analysis::TimeNs At(double x) const;
  // On average.
  double NsPerPixel() const;
};

// The window after zooming by `factor` (< 1 zooms in) with `anchor` fixed, and after moving by
// `pixels` (positive: later), within `bounds`; linear in the units of the scale.
analysis::TimeWindow ZoomAt(const TimeScale& scale, analysis::TimeNs anchor, double factor,
                            analysis::TimeWindow bounds);
analysis::TimeWindow PanBy(const TimeScale& scale, double pixels, analysis::TimeWindow bounds);

// The times at which `columns` columns of equal width begin, and the end of the last one: columns +
// 1 times from the window's begin to its end, not decreasing. All windows of one length share a
// grid of edges, so that a window that moves keeps its columns: what is at an edge is seen up to
// half a column beside its place, and the first and the last column are up to half a column wider
// or narrower.
std::vector<analysis::TimeNs> ColumnEdges(const TimeScale& scale, int columns);

// Maps bytes to vertical positions: `min_bytes` at `bottom`, `max_bytes` `height` above it.
struct ByteScale {
  std::uint64_t max_bytes = 1;
  double bottom = 0;
  double height = 1;
  std::uint64_t min_bytes = 0;

  double Y(double bytes) const;
};

struct Tick {
  double position = 0;  // pixels, in the coordinates of the scale
  double value = 0;     // bytes or ns since the start of the log
  QString label;
};

// Ticks from min_bytes to max_bytes at multiples of a power of two, at least
// `min_spacing` pixels apart.
std::vector<Tick> ByteTicks(const ByteScale& scale, double min_spacing);

// Ticks at round times since `origin`, at least `min_spacing` pixels apart (0.8 of it where steps
// differ in length).
std::vector<Tick> TimeTicks(const TimeScale& scale, analysis::TimeNs origin, double min_spacing);

// Marks where training steps begin. Minor marks (without a label) are left out if they would be
// closer than `min_mark` pixels; labels are at steps divisible by a round number, `min_label`
// apart.
struct StepMark {
  double position = 0;
  std::int64_t number = 0;
  bool labelled = false;
};
std::vector<StepMark> StepMarks(const TimeScale& scale, std::span<const analysis::StepInfo> steps,
                                double min_mark, double min_label);

// Whole numbers from `first` to `last` at multiples of 1, 2, 5, 10, …, spread evenly over
// [left, left + width] with number i in the middle of its share, at least `min_spacing` apart.
std::vector<Tick> NumberTicks(std::int64_t first, std::int64_t last, double left, double width,
                              double min_spacing);

}  // namespace memprof::viewer
