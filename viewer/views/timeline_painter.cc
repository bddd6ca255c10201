// Paints a stacked timeline into a rectangle.
#include "viewer/views/timeline_painter.h"

#include <QPolygonF>
#include <algorithm>

#include "viewer/geometry/units.h"
#include "viewer/views/text.h"

namespace memprof::viewer {

void FillBand(QPainter& painter, const QPolygonF& shape, BandRole role, const Theme& theme) {
  painter.setPen(Qt::NoPen);
  const QColor color = theme.Band(role);
  painter.setBrush(color);
  painter.drawPolygon(shape);
  if (role == BandRole::kCached || role == BandRole::kPool) {
    // Held, not used: hatched, so that it is told apart without colour too.
    painter.setBrush(QBrush(theme.dark ? color.lighter(130) : color.darker(118), Qt::BDiagPattern));
    painter.drawPolygon(shape);
  }
}

void PaintStack(QPainter& painter, const QRectF& plot, const TimelineBands& bands,
                const TimelineColumns& columns, std::uint64_t max_bytes, const Theme& theme) {
  if (columns.columns == 0) return;
  painter.save();
  painter.setClipRect(plot);
  painter.setRenderHint(QPainter::Antialiasing, false);
  const ByteScale scale{max_bytes, plot.bottom(), plot.height()};
  const double step = plot.width() / columns.columns;
  const auto n = static_cast<std::size_t>(columns.columns);
  // The area from one edge up to another; from the axis where there is no lower one.
  const auto area = [&](const std::vector<std::uint64_t>* lower,
                        const std::vector<std::uint64_t>& upper) {
    QPolygonF shape;
    shape.reserve(static_cast<qsizetype>(4 * n));
    const auto add = [&](const std::vector<std::uint64_t>* edge, std::size_t i, bool backwards) {
      const double y = edge == nullptr ? plot.bottom() : scale.Y(static_cast<double>((*edge)[i]));
      const double left = plot.left() + static_cast<double>(i) * step;
      shape << QPointF(backwards ? left + step : left, y)
            << QPointF(backwards ? left : left + step, y);
    };
    for (std::size_t i = 0; i < n; ++i) add(&upper, i, false);
    for (std::size_t i = n; i-- > 0;) add(lower, i, true);
    return shape;
  };
  // From the top band down, each over those above it: what is always there is solid, what is there
  // at times only lets the bands above it shine through, so that each layer's own peak is seen.
  for (std::size_t b = columns.high.size(); b-- > 0;) {
    FillBand(painter, area(nullptr, columns.low[b]), bands.bands[b].role, theme);
    if (columns.low[b] == columns.high[b]) continue;
    painter.setOpacity(kAtTimesOpacity);
    FillBand(painter, area(&columns.low[b], columns.high[b]), bands.bands[b].role, theme);
    painter.setOpacity(1);
    const QColor cap = theme.Band(bands.bands[b].role);
    for (std::size_t i = 0; i < n; ++i) {
      if (columns.low[b][i] == columns.high[b][i]) continue;
      const double top = scale.Y(static_cast<double>(columns.high[b][i]));
      painter.fillRect(QRectF(plot.left() + static_cast<double>(i) * step, top, step, 1), cap);
    }
  }
  painter.restore();
}

void PaintByteAxis(QPainter& painter, const QRectF& plot, std::uint64_t max_bytes,
                   const Theme& theme) {
  painter.save();
  const ByteScale scale{max_bytes, plot.bottom(), plot.height()};
  const double height = QFontMetricsF(painter.font()).height();
  for (const Tick& tick : ByteTicks(scale, std::max(height * 2.2, plot.height() / 14))) {
    const double y = std::round(tick.position) + 0.5;
    painter.setPen(theme.grid);
    if (tick.value > 0) painter.drawLine(QPointF(plot.left(), y), QPointF(plot.right(), y));
    painter.setPen(theme.muted);
    painter.drawText(QRectF(0, y - height / 2, plot.left() - kSpace, height),
                     Qt::AlignRight | Qt::AlignVCenter, tick.label);
  }
  painter.restore();
}

void PaintTimeAxis(QPainter& painter, const QRectF& plot, const TimeScale& scale,
                   analysis::TimeNs origin, std::span<const analysis::StepInfo> steps,
                   const Theme& theme) {
  painter.save();
  const QFontMetricsF metrics(painter.font());
  const double row = metrics.height();
  double y = plot.bottom() + 1;
  painter.setPen(theme.border);
  painter.drawLine(QPointF(plot.left(), y), QPointF(plot.right(), y));
  const auto label = [&](double x, double top, const QString& text) {
    const double width = metrics.horizontalAdvance(text) + 2;
    const double left = std::clamp(x - width / 2, plot.left() - 4, plot.right() - width);
    painter.drawText(QRectF(left, top, width, row), Qt::AlignCenter, text);
  };
  const auto caption = [&](double top, const QString& text) {
    painter.setPen(theme.muted);
    painter.drawText(QRectF(0, top, plot.left() - kSpace, row), Qt::AlignRight | Qt::AlignVCenter,
                     text);
  };
  if (!steps.empty()) {
    caption(y + 5, QStringLiteral("step"));
    for (const StepMark& mark :
         StepMarks(scale, steps, 5, metrics.horizontalAdvance(QStringLiteral("000000")))) {
      painter.setPen(mark.labelled ? theme.muted : theme.border);
      painter.drawLine(QPointF(mark.position, y),
                       QPointF(mark.position, y + (mark.labelled ? 6 : 3)));
      painter.setPen(theme.text);
      if (mark.labelled) label(mark.position, y + 5, QString::number(mark.number));
    }
    y += row + 3;
  }
  caption(y + 5, QStringLiteral("time"));
  const double spacing = metrics.horizontalAdvance(QStringLiteral("000.000 ms")) + 3 * kSpace;
  for (const Tick& tick : TimeTicks(scale, origin, spacing)) {
    if (steps.empty()) {
      painter.setPen(theme.muted);
      painter.drawLine(QPointF(tick.position, y), QPointF(tick.position, y + 5));
    }
    painter.setPen(theme.muted);
    label(tick.position, y + 5, tick.label);
  }
  painter.restore();
}

void PaintLevel(QPainter& painter, const QRectF& plot, double y, const QString& label,
                const QColor& color, const Theme& theme) {
  painter.save();
  QPen pen(color, 1.5, Qt::DashLine);
  painter.setPen(pen);
  painter.drawLine(QPointF(plot.left(), y), QPointF(plot.right(), y));
  const QFontMetricsF metrics(painter.font());
  const double width = metrics.horizontalAdvance(label) + 2 * kSpace;
  double top = y - metrics.height() - 2;
  if (top < plot.top()) top = y + 2;
  QRectF box(plot.right() - width - kSpace, top, width, metrics.height());
  QColor back = theme.surface;
  back.setAlpha(210);
  painter.fillRect(box, back);
  painter.drawText(box, Qt::AlignCenter, label);
  painter.restore();
}

void PaintFlag(QPainter& painter, const QRectF& plot, double x, double y, const QString& label,
               const QColor& color, const Theme& theme) {
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(color, 1, Qt::DotLine));
  painter.drawLine(QPointF(x, y), QPointF(x, plot.bottom()));
  painter.setPen(QPen(theme.surface, 1.5));
  painter.setBrush(color);
  painter.drawEllipse(QPointF(x, y), 4.5, 4.5);
  const QFontMetricsF metrics(painter.font());
  const double width = metrics.horizontalAdvance(label) + 2 * kSpace;
  const double height = metrics.height() + 4;
  double left = x + 8;
  if (left + width > plot.right()) left = x - 8 - width;
  const double top = std::clamp(y - height - 6, plot.top() + 2, plot.bottom() - height);
  const QRectF box(std::max(left, plot.left() + 2), top, width, height);
  painter.setPen(QPen(theme.border, 1));
  painter.setBrush(theme.surface);
  painter.drawRoundedRect(box, 4, 4);
  painter.setPen(theme.text);
  painter.drawText(box, Qt::AlignCenter, label);
  painter.restore();
}

}  // namespace memprof::viewer
