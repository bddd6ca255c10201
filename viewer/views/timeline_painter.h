// Paints a stacked timeline into a rectangle: no widget, no state, the same for window and file.
#pragma once

#include <QPainter>
#include <QRectF>
#include <optional>
#include <span>

#include "analysis/session.h"
#include "viewer/geometry/axis.h"
#include "viewer/geometry/timeline_columns.h"
#include "viewer/views/theme.h"

namespace memprof::viewer {

// Opacity of what a column holds at times only.
inline constexpr double kAtTimesOpacity = 0.5;

// The colour that the legend and the plot use for a band.
void FillBand(QPainter& painter, const QPolygonF& shape, BandRole role, const Theme& theme);

// The stack alone, in `plot`; columns one per device pixel.
void PaintStack(QPainter& painter, const QRectF& plot, const TimelineBands& bands,
                const TimelineColumns& columns, std::uint64_t max_bytes, const Theme& theme);

// Byte ticks with grid lines; labels end at plot.left() - kSpace.
void PaintByteAxis(QPainter& painter, const QRectF& plot, std::uint64_t max_bytes,
                   const Theme& theme);
// Step marks and time ticks below the plot, in two rows.
void PaintTimeAxis(QPainter& painter, const QRectF& plot, const TimeScale& scale,
                   analysis::TimeNs origin, std::span<const analysis::StepInfo> steps,
                   const Theme& theme);
// A level across the plot (capacity) with a label at its right end.
void PaintLevel(QPainter& painter, const QRectF& plot, double y, const QString& label,
                const QColor& color, const Theme& theme);
// A flag at an instant: a thin line down the plot and a label that keeps inside it.
void PaintFlag(QPainter& painter, const QRectF& plot, double x, double y, const QString& label,
               const QColor& color, const Theme& theme);

}  // namespace memprof::viewer
