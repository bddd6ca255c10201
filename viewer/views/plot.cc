// A plot over the time window that all views share.
#include "viewer/views/plot.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPaintEvent>
#include <QPainter>
#include <QWheelEvent>
#include <algorithm>

#include "viewer/geometry/units.h"
#include "viewer/views/text.h"
#include "viewer/views/timeline_painter.h"

namespace memprof::viewer {
using analysis::TimeNs;

QString InstantText(const Document& document, const TimeScale& scale, TimeNs time) {
  const TimeNs origin = document.bounds().begin;
  QString text = FormatInstant(time - std::min(origin, time),
                               static_cast<TimeNs>(std::max(1.0, scale.NsPerPixel())));
  const std::int64_t step = document.session()->StepAt(time);
  if (step >= 0) text += TimePlot::tr("  ·  step %1").arg(step);
  return text;
}

void PaintInstant(QPainter& painter, const QRectF& plot, const TimeScale& scale, TimeNs instant,
                  double height, const Theme& theme) {
  const double x = scale.X(instant);
  if (x < plot.left() || x > plot.right()) return;
  const double top = plot.top() - height;
  painter.setPen(QPen(theme.text, 1.5));
  painter.drawLine(QPointF(x, top + 4), QPointF(x, plot.bottom()));
  painter.setPen(Qt::NoPen);
  painter.setBrush(theme.text);
  painter.drawPolygon(
      QPolygonF({QPointF(x - 5, top), QPointF(x + 5, top), QPointF(x, plot.top())}));
}

void InstantStrips::Move(QWidget* widget, double x) const {
  constexpr int kHalf = 8;  // the mark above the line is narrower
  for (const double at : {painted_, x}) {
    const double seen = std::clamp(at, -2.0 * kHalf, widget->width() + 2.0 * kHalf);
    widget->update(QRect(static_cast<int>(seen) - kHalf, 0, 2 * kHalf, widget->height()));
  }
}

void PaintParts(QWidget* widget, const QPaintEvent& event,
                const std::function<void(QPainter&)>& paint) {
  QPainter painter(widget);
  for (const QRect& part : event.region()) {
    painter.save();
    painter.setClipRect(part);
    paint(painter);
    painter.restore();
  }
}

TimePlot::TimePlot(Document* document, Selection* selection, QWidget* parent)
    : QWidget(parent), document_(document), selection_(selection) {
  setAttribute(Qt::WA_OpaquePaintEvent);
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
  const auto repaint = [this] { update(); };
  connect(document, &Document::StateChanged, this, repaint);
  connect(selection, &Selection::DeviceChanged, this, repaint);
  connect(selection, &Selection::InstantChanged, this,
          [this] { instant_.Move(this, Scale().X(selection_->instant())); });
  connect(selection, &Selection::ZoomChanged, this, repaint);
  connect(selection, &Selection::AxisChanged, this, repaint);
}

double TimePlot::LeftMargin() const {
  return QFontMetricsF(SmallFont(font())).horizontalAdvance(QStringLiteral("00000 MiB")) +
         2 * kSpace;
}

double TimePlot::AxisHeight() const {
  const bool steps = document_->session() != nullptr && !document_->session()->steps().empty();
  return QFontMetricsF(SmallFont(font())).height() * (steps ? 2 : 1) + 2 * kSpace;
}

QRectF TimePlot::PlotRect() const {
  return QRectF(LeftMargin(), kSpace, std::max(10.0, width() - LeftMargin() - 2 * kSpace),
                std::max(10.0, height() - kSpace - AxisHeight()));
}

TimeScale TimePlot::Scale() const {
  const QRectF plot = PlotRect();
  return {selection_->window(), plot.left(), plot.width(), ShownClock(*document_, *selection_)};
}

void TimePlot::paintEvent(QPaintEvent* event) {
  PaintParts(this, *event, [this](QPainter& painter) { Paint(painter); });
  instant_.Painted(Scale().X(selection_->instant()));
}

void TimePlot::Paint(QPainter& painter) {
  const Theme theme = Theme::From(palette());
  painter.fillRect(rect(), theme.surface);
  painter.setFont(SmallFont(font()));
  if (document_->session() == nullptr || !ready()) {
    painter.setPen(theme.muted);
    painter.drawText(rect().adjusted(kSpace, 0, -kSpace, 0), Qt::AlignCenter | Qt::TextWordWrap,
                     Waiting());
    return;
  }
  const TimeScale scale = Scale();
  const QRectF plot = PlotRect();
  PaintTimeAxis(painter, plot, scale, document_->bounds().begin, document_->session()->steps(),
                theme);
  PaintContent(painter, scale, theme);
  PaintInstant(painter, plot, scale, selection_->instant(), 6, theme);
  PaintReadout(painter, plot, scale, theme);
}

void TimePlot::PaintReadout(QPainter& painter, const QRectF& plot, const TimeScale& scale,
                            const Theme& theme) {
  if (!gestures_.cursor().has_value()) return;
  gestures_.PaintBrushed(painter, plot, theme);
  const QPointF cursor = *gestures_.cursor();
  if (!plot.contains(cursor)) return;
  const double x = cursor.x();
  painter.setPen(QPen(theme.muted, 1, Qt::DashLine));
  painter.drawLine(QPointF(x, plot.top()), QPointF(x, plot.bottom()));
  const TimeNs time = scale.At(x);
  QStringList lines = Readout(time, cursor);
  if (lines.isEmpty()) return;
  lines.prepend(InstantText(*document_, scale, time));
  const QFontMetricsF metrics(painter.font());
  double names = 0, values = 0, whole = 0;
  for (const QString& line : lines) {
    const QStringList parts = line.split(QLatin1Char('\t'));
    if (parts.size() == 1) whole = std::max(whole, metrics.horizontalAdvance(line));
    if (parts.size() < 2) continue;
    names = std::max(names, metrics.horizontalAdvance(parts[0]));
    values = std::max(values, metrics.horizontalAdvance(parts[1]));
  }
  const double row = metrics.height() + 2;
  const double width = std::max(names + values + 2 * kSpace, whole) + 2 * kSpace;
  const double height = row * static_cast<double>(lines.size()) + kSpace;
  double left = x + 14;
  if (left + width > plot.right()) left = x - 14 - width;
  const double top =
      std::clamp(cursor.y() - height / 2, 0.0, std::max(0.0, this->height() - height));
  const QRectF box(std::max(left, 0.0), top, width, height);
  painter.setPen(theme.border);
  painter.setBrush(theme.surface);
  painter.drawRoundedRect(box, 5, 5);
  double y = box.top() + kSpace / 2.0;
  for (const QString& line : lines) {
    const QStringList parts = line.split(QLatin1Char('\t'));
    const QRectF place(box.left() + kSpace, y, box.width() - 2 * kSpace, row);
    painter.setPen(parts.size() == 1 ? theme.muted : theme.text);
    painter.drawText(place, Qt::AlignLeft | Qt::AlignVCenter, parts[0]);
    if (parts.size() > 1) painter.drawText(place, Qt::AlignRight | Qt::AlignVCenter, parts[1]);
    y += row;
  }
}

void TimePlot::mousePressEvent(QMouseEvent* event) {
  if (ready()) gestures_.Press(event);
}

void TimePlot::mouseMoveEvent(QMouseEvent* event) { gestures_.Move(event, Scale()); }

void TimePlot::mouseReleaseEvent(QMouseEvent* event) {
  const TimeScale scale = Scale();
  if (const auto clicked = gestures_.Release(event, scale))
    selection_->SetInstant(scale.At(clicked->x()));
}

void TimePlot::mouseDoubleClickEvent(QMouseEvent*) { selection_->ShowAll(); }

void TimePlot::wheelEvent(QWheelEvent* event) {
  // Outside of the plot, the wheel scrolls the surrounding area.
  if (!ready() || event->position().x() < PlotRect().left()) {
    event->ignore();
    return;
  }
  gestures_.Wheel(event, Scale());
}

void TimePlot::keyPressEvent(QKeyEvent* event) {
  if (!gestures_.Key(event, Scale())) QWidget::keyPressEvent(event);
}

void TimePlot::leaveEvent(QEvent*) { gestures_.Leave(); }

void TimePlot::changeEvent(QEvent* event) {
  if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange) update();
  QWidget::changeEvent(event);
}

}  // namespace memprof::viewer
