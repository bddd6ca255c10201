// Paints a stacked timeline into a rectangle: no widget, no state, the same for window and file.
#pragma once

#include <QPainter>
#include <QRectF>
#include <optional>
#include <span>
#include <vector>

#include "analysis/store/sampling.h"
#include "analysis/store/session.h"
#include "viewer/geometry/axis.h"
#include "viewer/geometry/timeline_columns.h"
#include "viewer/views/theme.h"
#include "viewer/views/timeline_raster.h"

namespace memprof::viewer {

// The fill of a band in legend and plot; hatched for memory that is held, but not used.
QColor BandColor(const Band& band, const Theme& theme);
BandFill FillOf(const Band& band, const Theme& theme);
BandFill FillOf(const QColor& color, BandRole role, const Theme& theme);
void FillBand(QPainter& painter, const QPolygonF& shape, const BandFill& fill,
              bool at_times = false);
// In another colour than the role's.
void FillBand(QPainter& painter, const QPolygonF& shape, const QColor& color, BandRole role,
              const Theme& theme);

// Only the stack, in `plot`; one column per device pixel. All bands but `selected` are paler; -1:
// none is selected. As pixels on a screen or in a picture, as shapes in a vector file.
void PaintStack(QPainter& painter, const QRectF& plot, const TimelineBands& bands,
                const TimelineColumns& columns, std::uint64_t max_bytes, const Theme& theme,
                int selected = -1);
// With the fills of the bands.
void PaintStack(QPainter& painter, const QRectF& plot, const TimelineColumns& columns,
                std::span<const BandFill> fills, std::uint64_t max_bytes);
// Always as shapes, for comparison with the pixels.
void PaintStackShapes(QPainter& painter, const QRectF& plot, const TimelineColumns& columns,
                      std::span<const BandFill> fills, std::uint64_t max_bytes);

// Byte ticks with grid lines; labels end at plot.left() - kSpace.
void PaintByteAxis(QPainter& painter, const QRectF& plot, const ByteScale& scale,
                   const Theme& theme);
// From 0.
void PaintByteAxis(QPainter& painter, const QRectF& plot, std::uint64_t max_bytes,
                   const Theme& theme);
// A line along the most that was in use in each column.
void PaintInUse(QPainter& painter, const QRectF& plot, const TimelineColumns& columns,
                std::uint64_t max_bytes, const Theme& theme);
// Step marks and time ticks below the plot, in two rows.
void PaintTimeAxis(QPainter& painter, const QRectF& plot, const TimeScale& scale,
                   analysis::TimeNs origin, std::span<const analysis::StepInfo> steps,
                   const Theme& theme);
// A level across the plot (capacity), and the label at its right end, which covers what crosses it.
void PaintLevel(QPainter& painter, const QRectF& plot, double y, const QColor& color);
void PaintLevelLabel(QPainter& painter, const QRectF& plot, double y, const QString& label,
                     const QColor& color, const Theme& theme);
// The most that was counted where a log that is always on is thinned, as dashed lines.
void PaintCounted(QPainter& painter, const QRectF& plot, const TimeScale& scale,
                  const ByteScale& bytes, const analysis::Sampling& sampling, int device,
                  analysis::Layer layer, const Theme& theme);
// Labels at instants: a thin line down the plot, and a label that stays in the plot and does not
// overlap earlier labels.
class FlagPainter {
 public:
  FlagPainter(QPainter& painter, const QRectF& plot, const Theme& theme)
      : painter_(painter), plot_(plot), theme_(theme) {}
  void Paint(double x, double y, const QString& label, const QColor& color);

 private:
  QRectF Place(double x, double y, QSizeF size) const;

  QPainter& painter_;
  const QRectF plot_;
  const Theme& theme_;
  std::vector<QRectF> taken_;
};

}  // namespace memprof::viewer
