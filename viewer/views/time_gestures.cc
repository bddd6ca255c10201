// Mouse, wheel and keys over a time window.
#include "viewer/views/time_gestures.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "viewer/geometry/window_math.h"

namespace memprof::viewer {
namespace {

constexpr double kClickSlop = 4;        // pixels that a click may move
constexpr quint64 kWheelPauseMs = 600;  // a longer pause begins a new entry of the history
constexpr double kPanPerNotch = 60;

}  // namespace

bool TimeGestures::IsClick(QPointF from, QPointF to) {
  return std::abs(to.x() - from.x()) <= kClickSlop;
}

int TimeGestures::Begin() {
  static int last = 0;  // of the GUI thread
  turning_ = false;
  return gesture_ = ++last;
}

void TimeGestures::Press(const QMouseEvent* event) {
  cursor_ = event->position();
  const bool left = event->button() == Qt::LeftButton;
  const bool pan = event->button() == Qt::MiddleButton ||
                   (left && event->modifiers().testFlag(Qt::ShiftModifier));
  if (left || pan) {
    drag_ = pan ? Drag::kPan : Drag::kBrush;
    from_ = event->position();
    from_window_ = selection_->window();
    Begin();
    if (pan) widget_->setCursor(Qt::ClosedHandCursor);
  } else if (event->button() == Qt::BackButton) {
    selection_->Back();
  } else if (event->button() == Qt::ForwardButton) {
    selection_->Forward();
  }
  widget_->update();
}

void TimeGestures::Move(const QMouseEvent* event, const TimeScale& scale) {
  cursor_ = event->position();
  if (drag_ == Drag::kPan) {
    // Moves relative to the window at the begin of the gesture, so that rounding errors of single
    // moves do not add up.
    TimeScale dragged = scale;
    dragged.window = from_window_;
    selection_->SetWindow(PanBy(dragged, from_.x() - event->position().x(), selection_->bounds()),
                          gesture_);
  }
  widget_->update();
}

std::optional<QPointF> TimeGestures::Release(const QMouseEvent* event, const TimeScale& scale) {
  const Drag drag = std::exchange(drag_, Drag::kNone);
  widget_->unsetCursor();
  widget_->update();
  if (drag != Drag::kBrush || event->button() != Qt::LeftButton) return std::nullopt;
  const QPointF to = event->position();
  if (IsClick(from_, to)) return to;
  selection_->SetWindow(Brush(scale.At(from_.x()), scale.At(to.x()), selection_->bounds()));
  return std::nullopt;
}

void TimeGestures::Leave() {
  cursor_.reset();
  widget_->update();
}

std::optional<QRectF> TimeGestures::Brushed(const QRectF& plot) const {
  if (drag_ != Drag::kBrush || !cursor_.has_value() || IsClick(from_, *cursor_))
    return std::nullopt;
  const auto [left, right] = std::minmax({std::clamp(from_.x(), plot.left(), plot.right()),
                                          std::clamp(cursor_->x(), plot.left(), plot.right())});
  return QRectF(QPointF(left, plot.top()), QPointF(right, plot.bottom()));
}

void TimeGestures::PaintBrushed(QPainter& painter, const QRectF& plot, const Theme& theme) const {
  const std::optional<QRectF> brushed = Brushed(plot);
  if (!brushed.has_value()) return;
  QColor fill = theme.accent;
  fill.setAlpha(60);
  painter.fillRect(*brushed, fill);
}

void TimeGestures::Wheel(QWheelEvent* event, const TimeScale& scale) {
  Wheel(event, scale, scale.At(event->position().x()));
}

void TimeGestures::Wheel(QWheelEvent* event, const TimeScale& scale, analysis::TimeNs anchor) {
  event->accept();
  if (!turning_ || event->timestamp() - turned_ms_ > kWheelPauseMs) Begin();
  turning_ = true;
  turned_ms_ = event->timestamp();
  const QPoint angle = event->angleDelta();
  const analysis::TimeWindow bounds = selection_->bounds();
  if (event->modifiers().testFlag(Qt::ShiftModifier) || std::abs(angle.x()) > std::abs(angle.y())) {
    const double notches = (angle.x() != 0 ? angle.x() : angle.y()) / 120.0;
    selection_->SetWindow(PanBy(scale, -notches * kPanPerNotch, bounds), gesture_);
  } else {
    selection_->SetWindow(ZoomAt(scale, anchor, std::pow(kZoomPerNotch, angle.y() / 120.0), bounds),
                          gesture_);
  }
}

bool TimeGestures::Key(const QKeyEvent* event, const TimeScale& scale) {
  const analysis::TimeWindow bounds = selection_->bounds();
  switch (event->key()) {
    case Qt::Key_Left:
      selection_->SetWindow(PanBy(scale, -scale.width / 8, bounds));
      return true;
    case Qt::Key_Right:
      selection_->SetWindow(PanBy(scale, scale.width / 8, bounds));
      return true;
    case Qt::Key_Up:
    case Qt::Key_Plus:
    case Qt::Key_Equal:
      selection_->SetWindow(ZoomAt(scale, selection_->instant(), 0.5, bounds));
      return true;
    case Qt::Key_Down:
    case Qt::Key_Minus:
      selection_->SetWindow(ZoomAt(scale, selection_->instant(), 2.0, bounds));
      return true;
    default:
      return false;
  }
}

}  // namespace memprof::viewer
