// The stack of the timeline as pixels: the result of PaintStack's shapes, about ten times as fast.
#pragma once

#include <QImage>
#include <functional>
#include <span>

#include "viewer/geometry/timeline_columns.h"
#include "viewer/views/theme.h"

namespace memprof::viewer {

// The fill of a band.
struct BandFill {
  QColor color;
  QColor stripes;                      // of `hatch`
  Qt::BrushStyle hatch = Qt::NoBrush;  // Qt::BDiagPattern, Qt::FDiagPattern, or none
  QColor at_times;                     // instead of `color`, if a column has it only at times
};

inline constexpr int kStripePeriod = 8;  // pixels from one stripe to the next

// One pixel for each column, `height` high and `max_bytes` from bottom to top; transparent above
// the stack. `pixel`: device pixels, by which lines and stripes are scaled. In strips of `rows`
// rows, from the top down: `show` gets the first row of each, and the strip, whose pixels are only
// valid during the call. Strips without any pixel are left out. O(pixels).
void RasterStack(const TimelineColumns& columns, std::span<const BandFill> fills,
                 std::uint64_t max_bytes, int height, int pixel, int rows,
                 const std::function<void(int y, const QImage& strip)>& show);

}  // namespace memprof::viewer
