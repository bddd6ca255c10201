// Wheel and keys over a time window.
#include "viewer/views/time_gestures.h"

#include <QDateTime>
#include <cmath>

#include "viewer/geometry/window_math.h"

namespace memprof::viewer {
namespace {

constexpr qint64 kWheelPauseMs = 600;  // a longer pause begins a new entry of the history
constexpr double kZoomPerNotch = 0.8, kPanPerNotch = 60;

}  // namespace

int TimeGestures::Begin() {
  static int last = 0;  // of the GUI thread
  return gesture_ = ++last;
}

void TimeGestures::Wheel(QWheelEvent* event, const TimeScale& scale, Selection* selection) {
  event->accept();
  const qint64 now = QDateTime::currentMSecsSinceEpoch();
  if (gesture_ == 0 || now - last_wheel_ms_ > kWheelPauseMs) Begin();
  last_wheel_ms_ = now;
  const QPoint angle = event->angleDelta();
  const analysis::TimeWindow bounds = selection->bounds();
  if (event->modifiers().testFlag(Qt::ShiftModifier) || std::abs(angle.x()) > std::abs(angle.y())) {
    const double notches = (angle.x() != 0 ? angle.x() : angle.y()) / 120.0;
    selection->SetWindow(PanBy(scale, -notches * kPanPerNotch, bounds), gesture_);
  } else {
    selection->SetWindow(ZoomAt(scale, scale.At(event->position().x()),
                                std::pow(kZoomPerNotch, angle.y() / 120.0), bounds),
                         gesture_);
  }
}

bool TimeGestures::Key(const QKeyEvent* event, const TimeScale& scale, Selection* selection) {
  const analysis::TimeWindow bounds = selection->bounds();
  switch (event->key()) {
    case Qt::Key_Left:
      selection->SetWindow(PanBy(scale, -scale.width / 8, bounds));
      return true;
    case Qt::Key_Right:
      selection->SetWindow(PanBy(scale, scale.width / 8, bounds));
      return true;
    case Qt::Key_Up:
    case Qt::Key_Plus:
    case Qt::Key_Equal:
      selection->SetWindow(ZoomAt(scale, selection->instant(), 0.5, bounds));
      return true;
    case Qt::Key_Down:
    case Qt::Key_Minus:
      selection->SetWindow(ZoomAt(scale, selection->instant(), 2.0, bounds));
      return true;
    default:
      return false;
  }
}

}  // namespace memprof::viewer
