// The box beside the mouse: the bytes of every band at that instant.
#pragma once

#include <QPainter>
#include <QRectF>
#include <cstdint>
#include <span>

#include "viewer/geometry/timeline_bands.h"
#include "viewer/views/theme.h"

namespace memprof::viewer {

// Beside `x`, within `plot`; highlights the row of band `hovered`, -1 for none. `bytes` bottom
// first, as the bands.
void PaintReadout(QPainter& painter, const QRectF& plot, double x, const QString& title,
                  const TimelineBands& bands, std::span<const std::uint64_t> bytes, int hovered,
                  const Theme& theme);

}  // namespace memprof::viewer
