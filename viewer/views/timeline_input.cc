// The memory timeline: mouse, wheel and keys.
#include <QDateTime>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QToolTip>
#include <QWheelEvent>
#include <cmath>

#include "viewer/geometry/window_math.h"
#include "viewer/views/timeline_view.h"

namespace memprof::viewer {
namespace {

constexpr double kClickSlop = 4;       // pixels that a click may move
constexpr qint64 kWheelPauseMs = 600;  // a longer pause begins a new entry of the history
constexpr double kZoomPerNotch = 0.8;

}  // namespace

void TimelineView::mousePressEvent(QMouseEvent* event) {
  if (bands() == nullptr) return;
  drag_from_ = event->position();
  drag_window_ = selection_->window();
  cursor_ = event->position();
  if (event->button() == Qt::MiddleButton ||
      (event->button() == Qt::LeftButton && event->modifiers().testFlag(Qt::ShiftModifier))) {
    drag_ = Drag::kPan;
    ++gesture_;
    setCursor(Qt::ClosedHandCursor);
  } else if (event->button() == Qt::LeftButton) {
    drag_ = Drag::kBrush;
  } else if (event->button() == Qt::BackButton) {
    selection_->Back();
  } else if (event->button() == Qt::ForwardButton) {
    selection_->Forward();
  }
  update();
}

void TimelineView::mouseMoveEvent(QMouseEvent* event) {
  cursor_ = event->position();
  if (drag_ == Drag::kPan) {
    TimeScale dragged = Scale();
    dragged.window = drag_window_;
    selection_->SetWindow(
        PanBy(dragged, drag_from_.x() - event->position().x(), selection_->bounds()), gesture_);
  }
  update();
}

void TimelineView::mouseReleaseEvent(QMouseEvent* event) {
  const Drag drag = drag_;
  drag_ = Drag::kNone;
  unsetCursor();
  if (drag == Drag::kBrush && event->button() == Qt::LeftButton) {
    const TimeScale scale = Scale();
    if (std::abs(event->position().x() - drag_from_.x()) <= kClickSlop) {
      selection_->SetInstant(scale.At(event->position().x()));
    } else {
      selection_->SetWindow(
          Brush(scale.At(drag_from_.x()), scale.At(event->position().x()), selection_->bounds()));
    }
  }
  update();
}

void TimelineView::mouseDoubleClickEvent(QMouseEvent* event) {
  const auto range = lane_.RangeAt(event->position());
  if (range.has_value()) {
    selection_->SetWindow(*range);
  } else {
    selection_->ShowAll();
  }
}

bool TimelineView::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const QString text = lane_.TextAt(help->pos());
  if (text.isEmpty()) {
    QToolTip::hideText();
  } else {
    QToolTip::showText(help->globalPos(), text, this);
  }
  return true;
}

void TimelineView::leaveEvent(QEvent*) {
  cursor_.reset();
  update();
}

void TimelineView::wheelEvent(QWheelEvent* event) {
  if (bands() == nullptr) return;
  const qint64 now = QDateTime::currentMSecsSinceEpoch();
  if (now - last_wheel_ms_ > kWheelPauseMs) ++gesture_;
  last_wheel_ms_ = now;
  const QPoint angle = event->angleDelta();
  const TimeScale scale = Scale();
  if (event->modifiers().testFlag(Qt::ShiftModifier) || std::abs(angle.x()) > std::abs(angle.y())) {
    const double notches = (angle.x() != 0 ? angle.x() : angle.y()) / 120.0;
    selection_->SetWindow(PanBy(scale, -notches * 60, selection_->bounds()), gesture_);
  } else {
    selection_->SetWindow(
        ZoomAt(scale, scale.At(event->position().x()), std::pow(kZoomPerNotch, angle.y() / 120.0),
               selection_->bounds()),
        gesture_);
  }
  event->accept();
}

void TimelineView::keyPressEvent(QKeyEvent* event) {
  const TimeScale scale = Scale();
  const analysis::TimeWindow bounds = selection_->bounds();
  switch (event->key()) {
    case Qt::Key_Left:
      selection_->SetWindow(PanBy(scale, -scale.width / 8, bounds));
      break;
    case Qt::Key_Right:
      selection_->SetWindow(PanBy(scale, scale.width / 8, bounds));
      break;
    case Qt::Key_Up:
    case Qt::Key_Plus:
    case Qt::Key_Equal:
      selection_->SetWindow(ZoomAt(scale, selection_->instant(), 0.5, bounds));
      break;
    case Qt::Key_Down:
    case Qt::Key_Minus:
      selection_->SetWindow(ZoomAt(scale, selection_->instant(), 2.0, bounds));
      break;
    default:
      QWidget::keyPressEvent(event);
  }
}

void TimelineView::changeEvent(QEvent* event) {
  if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange) update();
  QWidget::changeEvent(event);
}

}  // namespace memprof::viewer
