// The stack of the timeline as pixels: what PaintStack draws with shapes, some ten times as fast.
#pragma once

#include <QImage>
#include <span>

#include "viewer/geometry/timeline_columns.h"
#include "viewer/views/theme.h"

namespace memprof::viewer {

// What a band is filled with.
struct BandFill {
  QColor color;
  QColor stripes;                      // of `hatch`
  Qt::BrushStyle hatch = Qt::NoBrush;  // Qt::BDiagPattern, Qt::FDiagPattern, or none
  QColor at_times;                     // instead of `color`, where a column holds it at times only
};

// One pixel for each column, `height` high and `max_bytes` from bottom to top; transparent where
// nothing is. `pixel`: device pixels that lines and stripes are scaled by. O(pixels).
QImage RasterStack(const TimelineColumns& columns, std::span<const BandFill> fills,
                   std::uint64_t max_bytes, int height, int pixel);

}  // namespace memprof::viewer
