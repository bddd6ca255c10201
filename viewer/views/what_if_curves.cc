// Reserved bytes over time of several allocators.
#include "viewer/views/what_if_curves.h"

#include <QPainter>
#include <algorithm>
#include <cmath>

#include "analysis/allocators/device.h"
#include "viewer/geometry/units.h"
#include "viewer/views/text.h"
#include "viewer/views/timeline_painter.h"

namespace memprof::viewer {

WhatIfCurves::WhatIfCurves(Document* document, Selection* selection, QWidget* parent)
    : TimePlot(document, selection, parent) {
  setAccessibleName(tr("Reserved bytes over time of the chosen allocators"));
}

void WhatIfCurves::SetCurves(std::vector<WhatIfCurve> curves, std::uint64_t capacity) {
  curves_ = std::move(curves);
  std::stable_partition(curves_.begin(), curves_.end(),
                        [](const WhatIfCurve& curve) { return !curve.strong; });
  capacity_ = capacity;
  update();
}

QRectF WhatIfCurves::PlotRect() const {
  const double top = QFontMetricsF(SmallFont(font())).height() + 2 * kSpace;  // the legend
  return QRectF(LeftMargin(), top, std::max(10.0, width() - LeftMargin() - 2 * kSpace),
                std::max(10.0, height() - top - AxisHeight()));
}

std::uint64_t WhatIfCurves::Most() const {
  std::uint64_t most = 1;
  for (const WhatIfCurve& curve : curves_)
    for (const analysis::CurvePoint& point : curve.points) most = std::max(most, point.bytes);
  const std::uint64_t near = most + most / 2;
  if (capacity_ != analysis::allocators::kUnlimited && capacity_ <= near)
    most = std::max(most, capacity_);
  return most + most / 20;
}

void WhatIfCurves::PaintCurve(QPainter& painter, const QRectF& plot, const TimeScale& scale,
                              const WhatIfCurve& curve, std::uint64_t most) const {
  const int columns =
      std::max(1, static_cast<int>(std::lround(plot.width() * devicePixelRatioF())));
  const std::vector<std::uint64_t> bytes =
      analysis::MostInColumns(curve.points, ColumnEdges(scale, columns));
  const ByteScale height{most, plot.bottom(), plot.height()};
  const double step = plot.width() / columns, half = curve.strong ? 1.25 : 0.75;
  // As rectangles: the outline of a line with as many corners takes Qt seconds.
  const auto column = [&](int i) { return plot.left() + i * step; };
  double last = 0;
  for (int begin = 0, end = 0; begin < columns; begin = end) {
    const std::uint64_t level = bytes[static_cast<std::size_t>(begin)];
    while (end < columns && bytes[static_cast<std::size_t>(end)] == level) ++end;
    const double y = height.Y(static_cast<double>(level));
    painter.fillRect(
        QRectF(column(begin) - half, y - half, column(end) - column(begin) + 2 * half, 2 * half),
        curve.color);
    if (begin > 0)
      painter.fillRect(
          QRectF(column(begin) - half, std::min(last, y), 2 * half, std::abs(last - y)),
          curve.color);
    last = y;
  }
}

void WhatIfCurves::PaintLegend(QPainter& painter, const QRectF& plot, const Theme& theme) const {
  const QFontMetricsF metrics(painter.font());
  double x = plot.left();
  for (const WhatIfCurve& curve : curves_) {
    const double width = metrics.horizontalAdvance(curve.name) + 3 * kSpace;
    if (x + width > plot.right()) {
      painter.setPen(theme.muted);
      DrawElided(painter, QRectF(x, 0, plot.right() - x, plot.top() - kSpace),
                 Qt::AlignLeft | Qt::AlignVCenter, QStringLiteral("…"));
      return;
    }
    const double y = (plot.top() - kSpace) / 2;
    painter.setPen(QPen(curve.color, curve.strong ? 3 : 2));
    painter.drawLine(QPointF(x, y), QPointF(x + kSpace, y));
    painter.setPen(theme.muted);
    painter.drawText(QRectF(x + kSpace + 4, 0, width, plot.top() - kSpace),
                     Qt::AlignLeft | Qt::AlignVCenter, curve.name);
    x += width;
  }
}

void WhatIfCurves::PaintContent(QPainter& painter, const TimeScale& scale, const Theme& theme) {
  const QRectF plot = PlotRect();
  const std::uint64_t most = Most();
  PaintByteAxis(painter, plot, most, theme);
  painter.save();
  painter.setClipRect(plot.adjusted(0, -2, 0, 2), Qt::IntersectClip);
  for (const WhatIfCurve& curve : curves_) PaintCurve(painter, plot, scale, curve, most);
  painter.restore();
  if (capacity_ <= most) {
    const ByteScale bytes{most, plot.bottom(), plot.height()};
    const double y = bytes.Y(static_cast<double>(capacity_));
    PaintLevel(painter, plot, y, theme.danger);
    PaintLevelLabel(painter, plot, y, FormatBytes(capacity_), theme.danger, theme);
  }
  PaintLegend(painter, plot, theme);
  if (hasFocus()) {
    painter.setPen(theme.accent);
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(plot);
  }
}

QStringList WhatIfCurves::Readout(analysis::TimeNs time, QPointF) const {
  // The column of pixels that is drawn there.
  const auto column = static_cast<analysis::TimeNs>(Scale().NsPerPixel());
  const std::vector<analysis::TimeNs> edges = {time, time + std::max<analysis::TimeNs>(column, 1)};
  QStringList lines;
  for (const WhatIfCurve& curve : curves_) {
    lines << QStringLiteral("%1\t%2").arg(
        curve.name, FormatBytes(analysis::MostInColumns(curve.points, edges).front()));
  }
  return lines;
}

}  // namespace memprof::viewer
