// What the wheel and the keys do to the time window, the same in every plot over time: the wheel
// zooms at the mouse, with Shift or sideways it moves; arrows, plus and minus do the same.
#pragma once

#include <QKeyEvent>
#include <QWheelEvent>

#include "viewer/geometry/axis.h"
#include "viewer/models/selection.h"

namespace memprof::viewer {

// One turn of the wheel, or one drag, is one entry of the history. Gestures are counted over all
// plots, so that none goes on with another's.
class TimeGestures {
 public:
  // Begins a new gesture: its number, for Selection::SetWindow.
  int Begin();
  // The number of the gesture that is under way.
  int current() const { return gesture_; }

  void Wheel(QWheelEvent* event, const TimeScale& scale, Selection* selection);
  // Whether the key was one of those that move or zoom the window.
  static bool Key(const QKeyEvent* event, const TimeScale& scale, Selection* selection);

 private:
  int gesture_ = 0;
  qint64 last_wheel_ms_ = 0;
};

}  // namespace memprof::viewer
