// Scales and ticks of axes: bytes upwards, time and training steps along. Pure; thread-safe.
#pragma once

#include <QString>
#include <cstdint>
#include <span>
#include <vector>

#include "analysis/session.h"
#include "analysis/types.h"

namespace memprof::viewer {

// Maps recorded time to horizontal positions: window.begin at `left`, window.end at left + width.
struct TimeScale {
  analysis::TimeWindow window;
  double left = 0;
  double width = 1;

  double X(analysis::TimeNs time) const;
  // The time under a position, clamped to the window.
  analysis::TimeNs At(double x) const;
  double NsPerPixel() const;
};

// Maps bytes to vertical positions: 0 at `bottom`, `max_bytes` `height` above it.
struct ByteScale {
  std::uint64_t max_bytes = 1;
  double bottom = 0;
  double height = 1;

  double Y(double bytes) const;
};

struct Tick {
  double position = 0;  // pixels, in the coordinates of the scale
  double value = 0;     // bytes or ns since the start of the log
  QString label;
};

// Ticks from 0 to max_bytes at multiples of a power of two, at least
// `min_spacing` pixels apart.
std::vector<Tick> ByteTicks(const ByteScale& scale, double min_spacing);

// Ticks at round times since `origin`, at least `min_spacing` pixels apart.
std::vector<Tick> TimeTicks(const TimeScale& scale, analysis::TimeNs origin, double min_spacing);

// Marks where training steps begin. Minor marks (no label) are left out when they would be closer
// than `min_mark` pixels; labels sit on steps divisible by a round number, `min_label` apart.
struct StepMark {
  double position = 0;
  std::int64_t number = 0;
  bool labelled = false;
};
std::vector<StepMark> StepMarks(const TimeScale& scale, std::span<const analysis::StepInfo> steps,
                                double min_mark, double min_label);

}  // namespace memprof::viewer
