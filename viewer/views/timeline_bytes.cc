// The memory timeline: which bytes its vertical axis shows.
#include <QKeyEvent>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "viewer/geometry/units.h"
#include "viewer/views/timeline_painter.h"
#include "viewer/views/timeline_view.h"

namespace memprof::viewer {
namespace {

constexpr double kBytesPerNotch = 0.8;

}  // namespace

std::uint64_t TimelineView::AxisMax() const {
  const TimelineBands* shown = bands();
  if (shown == nullptr) return 1;
  const analysis::DeviceInfo* device = document_->device(selection_->device());
  const int ordinal = selection_->device();
  const std::uint64_t counted =
      HighestKnown(*document_->session(), ordinal, analysis::Layer::kBlock,
                   HighestKnown(*document_->session(), ordinal, analysis::Layer::kUnspecified, 0));
  return ChooseAxis(std::max({shown->top.max(), shown->in_use.max(), counted}),
                    device != nullptr ? device->capacity_bytes : 0)
      .max_bytes;
}

// None where it is not known or beyond the bytes that are shown.
std::optional<std::uint64_t> TimelineView::ShownCapacity() const {
  const analysis::DeviceInfo* device = document_->device(selection_->device());
  const std::uint64_t capacity = device == nullptr ? 0 : device->capacity_bytes;
  const ByteScale bytes = ByteAxis();
  if (capacity < bytes.min_bytes || capacity > bytes.max_bytes ||
      !ChooseAxis(bands()->top.max(), capacity).shows_capacity)
    return std::nullopt;
  return capacity;
}

ByteWindow TimelineView::Bytes() const {
  const std::uint64_t top = AxisMax();
  if (!bytes_.has_value() || bytes_->low >= top) return {0, top};
  return {bytes_->low, std::min(bytes_->high, top)};
}

ByteScale TimelineView::ByteAxis() const {
  const QRectF plot = PlotRect();
  const ByteWindow shown = Bytes();
  return {shown.high, plot.bottom(), plot.height(), shown.low};
}

double TimelineView::BytesAtY(double y) const {
  const QRectF plot = PlotRect();
  const ByteWindow shown = Bytes();
  return static_cast<double>(shown.low) + (plot.bottom() - y) / plot.height() * shown.span();
}

void TimelineView::ShowBytes(const ByteWindow& window) {
  bytes_.reset();
  if (window != Bytes()) bytes_ = window;
  update();
}

void TimelineView::ShowAllBytes() {
  bytes_.reset();
  update();
}

void TimelineView::FitToUse() {
  if (bands() == nullptr || columns_of_ != stacks_->bands()) return;
  const auto& kinds = bands()->stack->bands();
  const auto used = std::count_if(kinds.begin(), kinds.end(), [](const analysis::StackBand& band) {
    return band.kind < analysis::StackBandKind::kCached;
  });
  const ByteWindow fit = FitBytes(columns_, static_cast<std::size_t>(used), AxisMax());
  if (fit == Bytes()) return ShowAllBytes();
  ShowBytes(fit);
}

bool TimelineView::ByteWheel(QWheelEvent* event) {
  if (!event->modifiers().testFlag(Qt::ControlModifier)) return false;
  event->accept();
  const QPoint angle = event->angleDelta();
  const double notches = (angle.y() != 0 ? angle.y() : angle.x()) / 120.0;
  const ByteWindow shown = Bytes();
  if (event->modifiers().testFlag(Qt::ShiftModifier)) {
    ShowBytes(PanBytes(shown, notches * shown.span() / 10, AxisMax()));
  } else {
    ShowBytes(ZoomBytes(shown, BytesAtY(event->position().y()), std::pow(kBytesPerNotch, notches),
                        AxisMax()));
  }
  return true;
}

bool TimelineView::ByteKey(QKeyEvent* event) {
  const ByteWindow shown = Bytes();
  const bool shift = event->modifiers().testFlag(Qt::ShiftModifier);
  const bool plain = event->modifiers() == Qt::NoModifier;
  const double middle = static_cast<double>(shown.low) + shown.span() / 2;
  switch (event->key()) {
    case Qt::Key_PageUp:
      ShowBytes(PanBytes(shown, shown.span() / 4, AxisMax()));
      return true;
    case Qt::Key_PageDown:
      ShowBytes(PanBytes(shown, -shown.span() / 4, AxisMax()));
      return true;
    case Qt::Key_Up:
      if (shift) ShowBytes(ZoomBytes(shown, middle, 0.5, AxisMax()));
      return shift;
    case Qt::Key_Down:
      if (shift) ShowBytes(ZoomBytes(shown, middle, 2, AxisMax()));
      return shift;
    case Qt::Key_0:
      if (plain) ShowAllBytes();
      return plain;
    case Qt::Key_F:
      if (plain) FitToUse();
      return plain;
    default:
      return false;
  }
}

void TimelineView::PaintAxisBegin(QPainter& painter, const QRectF& plot, const Theme& theme) const {
  const ByteWindow shown = Bytes();
  if (shown.low == 0) return;
  const QString text = tr("axis begins at %1, not at 0 (key 0: all)").arg(FormatBytes(shown.low));
  const QFontMetricsF metrics(painter.font());
  const QRectF box(plot.left() + kSpace, plot.bottom() - metrics.height() - kSpace,
                   metrics.horizontalAdvance(text) + 2 * kSpace, metrics.height() + 4);
  painter.setPen(QPen(theme.warning, 1));
  painter.setBrush(theme.surface);
  painter.drawRoundedRect(box, 4, 4);
  painter.drawText(box, Qt::AlignCenter, text);
  // The axis is torn: two slanted lines across its lower end.
  for (const double y : {plot.bottom() - 4, plot.bottom() - 8})
    painter.drawLine(QPointF(plot.left() - 6, y + 2), QPointF(plot.left() + 3, y - 2));
}

}  // namespace memprof::viewer
