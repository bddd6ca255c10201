// A plot that only receives mouse, wheel and key events.
#pragma once

#include <gtest/gtest.h>

#include <QCoreApplication>
#include <QTest>
#include <optional>

#include "viewer/views/time_gestures.h"

namespace memprof::viewer::testing {

using analysis::TimeNs;
using analysis::TimeWindow;

// Nanoseconds per pixel of the probe when the whole recording is shown.
inline constexpr TimeNs kGesturePixel = 1'000'000;
inline constexpr int kGestureWidth = 400;
inline constexpr TimeWindow kGestureBounds{0, kGestureWidth* kGesturePixel};

// A plot without functions of its own, as wide as the whole recording.
class GestureProbe : public QWidget {
 public:
  explicit GestureProbe(Selection* selection, bool mirrored = false)
      : selection_(selection), mirrored_(mirrored) {
    resize(kGestureWidth, 100);
    setMouseTracking(true);
  }

  TimeScale Scale() const { return {selection_->window(), 0, kGestureWidth}; }
  TimeGestures& gestures() { return gestures_; }
  std::optional<QPointF> clicked;
  bool key_taken = false;

 protected:
  void mousePressEvent(QMouseEvent* event) override { gestures_.Press(event); }
  void mouseMoveEvent(QMouseEvent* event) override { gestures_.Move(event, Scale()); }
  void mouseReleaseEvent(QMouseEvent* event) override {
    clicked = gestures_.Release(event, Scale());
  }
  void leaveEvent(QEvent*) override { gestures_.Leave(); }
  void wheelEvent(QWheelEvent* event) override {
    if (mirrored_) {
      gestures_.Wheel(event, Scale(), Scale().At(kGestureWidth - event->position().x()));
    } else {
      gestures_.Wheel(event, Scale());
    }
  }
  void keyPressEvent(QKeyEvent* event) override { key_taken = gestures_.Key(event, Scale()); }

 private:
  Selection* const selection_;
  const bool mirrored_;  // the wheel zooms around the mirrored position
  TimeGestures gestures_{this, selection_};
};

class TimeGesturesTest : public ::testing::Test {
 protected:
  TimeGesturesTest() { selection_.Reset(kGestureBounds, 200 * kGesturePixel, 0); }

  // Moves from `from` to `to` in small steps, like a hand.
  void Drag(int from, int to, Qt::MouseButton button = Qt::LeftButton,
            Qt::KeyboardModifiers modifiers = {}) {
    Press(from, button, modifiers);
    for (int i = 1; i <= 5; ++i) Move(from + (to - from) * i / 5);
    Release(to, button, modifiers);
  }
  void Press(int x, Qt::MouseButton button = Qt::LeftButton, Qt::KeyboardModifiers modifiers = {}) {
    QTest::mousePress(&probe_, button, modifiers, QPoint(x, 50));
  }
  // Not QTest's function, which moves the real pointer while no button is pressed.
  void Move(int x) {
    const QPointF at(x, 50);
    QMouseEvent event(QEvent::MouseMove, at, probe_.mapToGlobal(at), Qt::NoButton, Qt::NoButton,
                      Qt::NoModifier);
    QCoreApplication::sendEvent(&probe_, &event);
  }
  void Release(int x, Qt::MouseButton button = Qt::LeftButton,
               Qt::KeyboardModifiers modifiers = {}) {
    QTest::mouseRelease(&probe_, button, modifiers, QPoint(x, 50));
  }
  // A notch is 120 eighths of a degree.
  void Wheel(GestureProbe* probe, double x, QPoint angle, quint64 at_ms,
             Qt::KeyboardModifiers modifiers = {}) {
    const QPointF at(x, 50);
    QWheelEvent event(at, probe->mapToGlobal(at), {}, angle, Qt::NoButton, modifiers,
                      Qt::NoScrollPhase, false);
    event.setTimestamp(at_ms);
    event.ignore();
    QCoreApplication::sendEvent(probe, &event);
    EXPECT_TRUE(event.isAccepted()) << "otherwise the enclosing widget would scroll";
  }
  void Wheel(double x, QPoint angle, quint64 at_ms = 0, Qt::KeyboardModifiers modifiers = {}) {
    Wheel(&probe_, x, angle, at_ms, modifiers);
  }
  void ExpectWindow(double begin_pixel, double end_pixel, const char* what = "") {
    const TimeWindow window = selection_.window();
    EXPECT_NEAR(static_cast<double>(window.begin), begin_pixel * kGesturePixel,
                kGesturePixel / 100.0)
        << what;
    EXPECT_NEAR(static_cast<double>(window.end), end_pixel * kGesturePixel, kGesturePixel / 100.0)
        << what;
  }
  // Number of history entries before the current one.
  int Entries() {
    int entries = 0;
    while (selection_.can_back()) {
      selection_.Back();
      ++entries;
    }
    return entries;
  }

  Selection selection_;
  GestureProbe probe_{&selection_};
};

}  // namespace memprof::viewer::testing
