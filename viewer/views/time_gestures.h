// The effect of mouse, wheel and keys on the time window, the same in every plot over time:
// dragging brushes a window; with Shift or the middle button it moves the window; the wheel zooms
// at the mouse, with Shift or sideways it moves; arrows, plus and minus do the same.
#pragma once

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QWheelEvent>
#include <QWidget>
#include <optional>

#include "viewer/geometry/axis.h"
#include "viewer/models/selection.h"
#include "viewer/views/theme.h"

namespace memprof::viewer {

// What is seen after a notch of the wheel, as a share of what was.
inline constexpr double kZoomPerNotch = 0.8;

// One turn of the wheel, or one drag, is one entry of the history. Gestures are numbered over all
// plots, so that one plot does not continue another's. A plot passes its events on, with its scale,
// and queries the position of the mouse.
class TimeGestures {
 public:
  // Both outlive this; `widget` is repainted, and gets a hand cursor while it is moved.
  TimeGestures(QWidget* widget, Selection* selection) : widget_(widget), selection_(selection) {}

  // Whether the mouse moved so little that it is a click.
  static bool IsClick(QPointF from, QPointF to);

  // Begins a new gesture and returns its number, for Selection::SetWindow.
  int Begin();
  // The number of the current gesture.
  int current() const { return gesture_; }

  // Begins to brush or to pan, or goes back or forward in the history.
  void Press(const QMouseEvent* event);
  // Follows the mouse; pans.
  void Move(const QMouseEvent* event, const TimeScale& scale);
  // Ends what Press began: brushes a window, or returns the point of a click.
  std::optional<QPointF> Release(const QMouseEvent* event, const TimeScale& scale);
  // The mouse has left the widget.
  void Leave();

  // Where the mouse is, while it is over the widget.
  const std::optional<QPointF>& cursor() const { return cursor_; }
  bool dragging() const { return drag_ != Drag::kNone; }
  bool panning() const { return drag_ == Drag::kPan; }
  // Where the last drag began.
  QPointF from() const { return from_; }
  // The brushed area, over the height of the plot; null while releasing the button would be a
  // click.
  std::optional<QRectF> Brushed(const QRectF& plot) const;
  void PaintBrushed(QPainter& painter, const QRectF& plot, const Theme& theme) const;

  void Wheel(QWheelEvent* event, const TimeScale& scale);
  // Zooms at an instant other than the one under the mouse.
  void Wheel(QWheelEvent* event, const TimeScale& scale, analysis::TimeNs anchor);
  // Returns whether the key was handled: one that moves or zooms the window.
  bool Key(const QKeyEvent* event, const TimeScale& scale);

 private:
  enum class Drag { kNone, kBrush, kPan };

  QWidget* const widget_;
  Selection* const selection_;
  int gesture_ = 0;
  bool turning_ = false;  // the gesture is a turn of the wheel
  quint64 turned_ms_ = 0;
  Drag drag_ = Drag::kNone;
  QPointF from_;
  analysis::TimeWindow from_window_;
  std::optional<QPointF> cursor_;
};

}  // namespace memprof::viewer
