// Reserved bytes over time of several allocators.
#include "viewer/views/what_if_curves.h"

#include <QDateTime>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "analysis/allocators/device.h"
#include "viewer/geometry/units.h"
#include "viewer/geometry/window_math.h"
#include "viewer/views/text.h"
#include "viewer/views/theme.h"
#include "viewer/views/timeline_painter.h"

namespace memprof::viewer {

WhatIfCurves::WhatIfCurves(Document* document, Selection* selection, QWidget* parent)
    : QWidget(parent), document_(document), selection_(selection) {
  setFocusPolicy(Qt::StrongFocus);
  setAccessibleName(tr("Reserved bytes over time of the chosen allocators"));
  const auto repaint = [this] { update(); };
  connect(selection_, &Selection::InstantChanged, this, repaint);
  connect(selection_, &Selection::ZoomChanged, this, repaint);
  connect(selection_, &Selection::AxisChanged, this, repaint);
}

void WhatIfCurves::SetCurves(std::vector<WhatIfCurve> curves, std::uint64_t capacity) {
  curves_ = std::move(curves);
  std::stable_partition(curves_.begin(), curves_.end(),
                        [](const WhatIfCurve& curve) { return !curve.strong; });
  capacity_ = capacity;
  update();
}

QRectF WhatIfCurves::PlotRect() const {
  const QFontMetricsF metrics(SmallFont(font()));
  const double left = metrics.horizontalAdvance(QStringLiteral("00000 MiB")) + 2 * kSpace;
  const double top = metrics.height() + kSpace;
  const double below = 2 * metrics.height() + kSpace;  // steps and times
  return QRectF(left, top, std::max(10.0, width() - left - 2 * kSpace),
                std::max(10.0, height() - top - below));
}

TimeScale WhatIfCurves::Scale() const {
  const QRectF plot = PlotRect();
  return {selection_->window(), plot.left(), plot.width(), ShownClock(*document_, *selection_)};
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

void WhatIfCurves::PaintCurve(QPainter& painter, const QRectF& plot, const WhatIfCurve& curve,
                              std::uint64_t most) const {
  const int columns =
      std::max(1, static_cast<int>(std::lround(plot.width() * devicePixelRatioF())));
  const std::vector<std::uint64_t> bytes =
      analysis::MostInColumns(curve.points, ColumnEdges(Scale(), columns));
  const ByteScale scale{most, plot.bottom(), plot.height()};
  const double step = plot.width() / columns;
  QPolygonF line;
  line.reserve(2 * columns);
  for (int i = 0; i < columns; ++i) {
    const double y = scale.Y(static_cast<double>(bytes[static_cast<std::size_t>(i)]));
    if (i > 0 && line.back().y() == y) {
      line.back().setX(plot.left() + (i + 1) * step);
      continue;
    }
    line << QPointF(plot.left() + i * step, y) << QPointF(plot.left() + (i + 1) * step, y);
  }
  QPen pen(curve.color, curve.strong ? 2.5 : 1.5);
  pen.setJoinStyle(Qt::MiterJoin);
  painter.setPen(pen);
  painter.setBrush(Qt::NoBrush);
  painter.drawPolyline(line);
}

void WhatIfCurves::PaintLegend(QPainter& painter, const QRectF& plot) const {
  const Theme theme = Theme::From(palette());
  const QFontMetricsF metrics(painter.font());
  double x = plot.left();
  for (const WhatIfCurve& curve : curves_) {
    const double width = metrics.horizontalAdvance(curve.name) + 3 * kSpace;
    if (x + width > plot.right()) {
      painter.setPen(theme.muted);
      DrawElided(painter, QRectF(x, 0, plot.right() - x, plot.top() - 2),
                 Qt::AlignLeft | Qt::AlignVCenter, QStringLiteral("…"));
      return;
    }
    const double y = (plot.top() - 2) / 2;
    painter.setPen(QPen(curve.color, curve.strong ? 3 : 2));
    painter.drawLine(QPointF(x, y), QPointF(x + kSpace, y));
    painter.setPen(theme.muted);
    painter.drawText(QRectF(x + kSpace + 4, 0, width, plot.top() - 2),
                     Qt::AlignLeft | Qt::AlignVCenter, curve.name);
    x += width;
  }
}

void WhatIfCurves::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const Theme theme = Theme::From(palette());
  painter.fillRect(rect(), theme.surface);
  painter.setFont(SmallFont(font()));
  const QRectF plot = PlotRect();
  if (curves_.empty() || document_->session() == nullptr) {
    painter.setPen(theme.muted);
    painter.drawText(rect(), Qt::AlignCenter, QStringLiteral("…"));
    return;
  }
  const std::uint64_t most = Most();
  const TimeScale scale = Scale();
  PaintByteAxis(painter, plot, most, theme);
  PaintTimeAxis(painter, plot, scale, selection_->bounds().begin, document_->session()->steps(),
                theme);
  painter.save();
  painter.setClipRect(plot.adjusted(0, -2, 0, 2));
  for (const WhatIfCurve& curve : curves_) PaintCurve(painter, plot, curve, most);
  const double instant = std::round(scale.X(selection_->instant())) + 0.5;
  painter.setPen(QPen(theme.text, 1));
  painter.drawLine(QPointF(instant, plot.top()), QPointF(instant, plot.bottom()));
  painter.restore();
  if (capacity_ <= most) {
    const ByteScale bytes{most, plot.bottom(), plot.height()};
    PaintLevel(painter, plot, bytes.Y(static_cast<double>(capacity_)),
               tr("capacity %1").arg(FormatBytes(capacity_)), theme.danger, theme);
  }
  PaintLegend(painter, plot);
  if (hasFocus()) {
    painter.setPen(theme.accent);
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(plot);
  }
}

void WhatIfCurves::mousePressEvent(QMouseEvent* event) { drag_from_ = event->position().x(); }

void WhatIfCurves::mouseReleaseEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton || curves_.empty()) return;
  const TimeScale scale = Scale();
  const double x = event->position().x();
  if (std::abs(x - drag_from_) <= 4) {
    selection_->SetInstant(scale.At(x));
  } else {
    selection_->SetWindow(Brush(scale.At(drag_from_), scale.At(x), selection_->bounds()));
  }
}

void WhatIfCurves::wheelEvent(QWheelEvent* event) { gestures_.Wheel(event, Scale(), selection_); }

void WhatIfCurves::keyPressEvent(QKeyEvent* event) {
  if (!TimeGestures::Key(event, Scale(), selection_)) QWidget::keyPressEvent(event);
}

bool WhatIfCurves::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const TimeScale scale = Scale();
  const QRectF plot = PlotRect();
  if (curves_.empty() || !plot.contains(help->pos())) {
    QToolTip::hideText();
    return true;
  }
  const analysis::TimeNs from = scale.At(help->pos().x()), to = scale.At(help->pos().x() + 1);
  const std::vector<analysis::TimeNs> edges = {from, std::max(to, from + 1)};
  QStringList lines(FormatInstant(from - selection_->bounds().begin,
                                  static_cast<analysis::TimeNs>(scale.NsPerPixel())));
  for (const WhatIfCurve& curve : curves_) {
    lines << QStringLiteral("%1  %2").arg(
        FormatBytes(analysis::MostInColumns(curve.points, edges).front()), curve.name);
  }
  QToolTip::showText(help->globalPos(), lines.join(QLatin1Char('\n')), this);
  return true;
}

}  // namespace memprof::viewer
