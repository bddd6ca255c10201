// What mouse, wheel and keys do to the time window, and how many entries of the history they are.
#include "viewer/views/time_gestures.h"

#include <gtest/gtest.h>

#include <QCoreApplication>
#include <QImage>
#include <QTest>
#include <cmath>
#include <optional>
#include <tuple>
#include <utility>

namespace memprof::viewer {
namespace {

using analysis::TimeNs;
using analysis::TimeWindow;

constexpr TimeNs kPixel = 1'000'000;  // ns of the whole recording that a pixel of the probe shows
constexpr int kWidth = 400;
constexpr TimeWindow kBounds{0, kWidth* kPixel};

// A plot that does nothing of its own, as wide as the recording is long.
class Probe : public QWidget {
 public:
  explicit Probe(Selection* selection, bool mirrored = false)
      : selection_(selection), mirrored_(mirrored) {
    resize(kWidth, 100);
    setMouseTracking(true);
  }

  TimeScale Scale() const { return {selection_->window(), 0, kWidth}; }
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
      gestures_.Wheel(event, Scale(), Scale().At(kWidth - event->position().x()));
    } else {
      gestures_.Wheel(event, Scale());
    }
  }
  void keyPressEvent(QKeyEvent* event) override { key_taken = gestures_.Key(event, Scale()); }

 private:
  Selection* const selection_;
  const bool mirrored_;  // its wheel zooms at the other side of the mouse
  TimeGestures gestures_{this, selection_};
};

class TimeGesturesTest : public ::testing::Test {
 protected:
  TimeGesturesTest() { selection_.Reset(kBounds, 200 * kPixel, 0); }

  // From `from` to `to` pixels in small steps, as a hand does.
  void Drag(int from, int to, Qt::MouseButton button = Qt::LeftButton,
            Qt::KeyboardModifiers modifiers = {}) {
    Press(from, button, modifiers);
    for (int i = 1; i <= 5; ++i) Move(from + (to - from) * i / 5);
    Release(to, button, modifiers);
  }
  void Press(int x, Qt::MouseButton button = Qt::LeftButton, Qt::KeyboardModifiers modifiers = {}) {
    QTest::mousePress(&probe_, button, modifiers, QPoint(x, 50));
  }
  // Not QTest's, which moves the real pointer while no button is down.
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
  void Wheel(Probe* probe, double x, QPoint angle, quint64 at_ms,
             Qt::KeyboardModifiers modifiers = {}) {
    const QPointF at(x, 50);
    QWheelEvent event(at, probe->mapToGlobal(at), {}, angle, Qt::NoButton, modifiers,
                      Qt::NoScrollPhase, false);
    event.setTimestamp(at_ms);
    event.ignore();
    QCoreApplication::sendEvent(probe, &event);
    EXPECT_TRUE(event.isAccepted()) << "else what the plot lies in scrolls";
  }
  void Wheel(double x, QPoint angle, quint64 at_ms = 0, Qt::KeyboardModifiers modifiers = {}) {
    Wheel(&probe_, x, angle, at_ms, modifiers);
  }
  void ExpectWindow(double begin_pixel, double end_pixel, const char* what = "") {
    const TimeWindow window = selection_.window();
    EXPECT_NEAR(static_cast<double>(window.begin), begin_pixel * kPixel, kPixel / 100.0) << what;
    EXPECT_NEAR(static_cast<double>(window.end), end_pixel * kPixel, kPixel / 100.0) << what;
  }
  // Entries of the history before what is shown now.
  int Entries() {
    int entries = 0;
    while (selection_.can_back()) {
      selection_.Back();
      ++entries;
    }
    return entries;
  }

  Selection selection_;
  Probe probe_{&selection_};
};

TEST_F(TimeGesturesTest, DraggingBrushesAWindowEitherWay) {
  Drag(100, 300);
  ExpectWindow(100, 300);
  EXPECT_FALSE(probe_.clicked.has_value());
  selection_.Back();
  Drag(300, 100);
  ExpectWindow(100, 300, "from right to left");
  // Within what is shown now, one pixel is half as long.
  Drag(100, 300);
  ExpectWindow(150, 250);
  EXPECT_EQ(Entries(), 2);
  EXPECT_EQ(selection_.instant(), 200 * kPixel) << "the chosen instant stays";
}

TEST_F(TimeGesturesTest, BrushingPastTheEdgeEndsAtTheWindow) {
  selection_.SetWindow({100 * kPixel, 300 * kPixel});
  Press(200);
  Release(kWidth + 90);
  ExpectWindow(200, 300);
}

TEST_F(TimeGesturesTest, WhatMovesUpToFourPixelsIsAClick) {
  for (const int by : {0, 1, -1, 4, -4}) {
    Drag(200, 200 + by);
    ASSERT_TRUE(probe_.clicked.has_value()) << by;
    EXPECT_EQ(*probe_.clicked, QPointF(200 + by, 50)) << "where the button was let go";
    ExpectWindow(0, kWidth);
  }
  for (const int by : {5, -5}) {
    Drag(200, 200 + by);
    EXPECT_FALSE(probe_.clicked.has_value()) << by;
    EXPECT_TRUE(selection_.zoomed()) << by;
    selection_.Back();
  }
  // Up and down is no distance over time.
  QTest::mousePress(&probe_, Qt::LeftButton, {}, QPoint(200, 5));
  QTest::mouseRelease(&probe_, Qt::LeftButton, {}, QPoint(201, 95));
  EXPECT_TRUE(probe_.clicked.has_value());
  EXPECT_FALSE(selection_.zoomed());
}

TEST_F(TimeGesturesTest, OnlyTheLeftButtonClicksAndBrushes) {
  Drag(100, 300, Qt::RightButton);
  EXPECT_FALSE(selection_.zoomed());
  QTest::mouseClick(&probe_, Qt::RightButton, {}, QPoint(50, 50));
  EXPECT_FALSE(probe_.clicked.has_value());
  QTest::mouseClick(&probe_, Qt::MiddleButton, {}, QPoint(50, 50));
  EXPECT_FALSE(probe_.clicked.has_value());
  QTest::mouseClick(&probe_, Qt::LeftButton, Qt::ShiftModifier, QPoint(50, 50));
  EXPECT_FALSE(probe_.clicked.has_value()) << "with Shift it is a pan that went nowhere";
  EXPECT_FALSE(selection_.can_back());
}

TEST_F(TimeGesturesTest, AnotherButtonWithinABrushLeavesItsBegin) {
  Press(100);
  Press(180, Qt::RightButton);
  EXPECT_EQ(probe_.gestures().from(), QPointF(100, 50));
  EXPECT_TRUE(probe_.gestures().dragging());
  // Letting that one go gives the brush up.
  Release(180, Qt::RightButton);
  EXPECT_FALSE(probe_.gestures().dragging());
  Release(300);
  EXPECT_FALSE(selection_.zoomed());
  EXPECT_FALSE(probe_.clicked.has_value());
}

TEST_F(TimeGesturesTest, TheMiddleButtonOrShiftPans) {
  using How = std::pair<Qt::MouseButton, Qt::KeyboardModifier>;
  for (const auto& [button, modifier] :
       {How{Qt::MiddleButton, Qt::NoModifier}, How{Qt::LeftButton, Qt::ShiftModifier}}) {
    selection_.Reset(kBounds, 200 * kPixel, 0);
    selection_.SetWindow({100 * kPixel, 200 * kPixel});
    Press(200, button, modifier);
    EXPECT_TRUE(probe_.gestures().panning());
    EXPECT_EQ(probe_.cursor().shape(), Qt::ClosedHandCursor);
    // What is under the mouse goes with it: 40 of its pixels are 10 of the whole.
    Move(160);
    ExpectWindow(110, 210, "while the button is down");
    Move(120);
    ExpectWindow(120, 220, "from where it began, not from the last move");
    Move(360);
    ExpectWindow(60, 160);
    Release(360, button, modifier);
    EXPECT_FALSE(probe_.gestures().panning());
    EXPECT_EQ(probe_.cursor().shape(), Qt::ArrowCursor);
    ExpectWindow(60, 160);
    Move(100);
    ExpectWindow(60, 160, "the button is up");
    EXPECT_FALSE(probe_.clicked.has_value());
    EXPECT_EQ(Entries(), 2) << "all of the drag is one entry, beside the window that was set";
  }
}

TEST_F(TimeGesturesTest, PanningStopsAtTheBounds) {
  selection_.SetWindow({100 * kPixel, 200 * kPixel});
  Drag(10, 390, Qt::MiddleButton);
  ExpectWindow(5, 105);
  Drag(10, 390, Qt::MiddleButton);
  ExpectWindow(0, 100);
}

TEST_F(TimeGesturesTest, EachDragIsAnEntryOfItsOwn) {
  selection_.SetWindow({100 * kPixel, 200 * kPixel});
  Drag(200, 160, Qt::MiddleButton);
  Drag(200, 160, Qt::MiddleButton);
  ExpectWindow(120, 220);
  selection_.Back();
  ExpectWindow(110, 210);
  selection_.Back();
  ExpectWindow(100, 200);
}

TEST_F(TimeGesturesTest, ButtonsOfTheMouseGoThroughTheHistory) {
  Drag(100, 300);
  QTest::mouseClick(&probe_, Qt::BackButton, {}, QPoint(50, 50));
  ExpectWindow(0, kWidth);
  QTest::mouseClick(&probe_, Qt::ForwardButton, {}, QPoint(50, 50));
  ExpectWindow(100, 300);
  EXPECT_FALSE(probe_.clicked.has_value());
}

TEST_F(TimeGesturesTest, TellsWhereTheMouseIsAndWhatIsBrushed) {
  const QRectF plot(20, 10, 360, 80);
  TimeGestures& gestures = probe_.gestures();
  EXPECT_FALSE(gestures.cursor().has_value());
  EXPECT_FALSE(gestures.Brushed(plot).has_value());
  Move(150);
  EXPECT_EQ(gestures.cursor(), QPointF(150, 50));
  EXPECT_FALSE(gestures.Brushed(plot).has_value()) << "no button is down";
  Press(200);
  Move(204);
  EXPECT_FALSE(gestures.Brushed(plot).has_value()) << "still a click";
  Move(205);
  EXPECT_EQ(gestures.Brushed(plot), QRectF(200, 10, 5, 80));
  Move(120);
  EXPECT_EQ(gestures.Brushed(plot), QRectF(120, 10, 80, 80)) << "to the left of where it began";
  Move(399);
  EXPECT_EQ(gestures.Brushed(plot), QRectF(200, 10, 180, 80)) << "no farther than the plot";
  Release(399);
  EXPECT_FALSE(gestures.Brushed(plot).has_value());
  Press(200, Qt::MiddleButton);
  Move(300);
  EXPECT_FALSE(gestures.Brushed(plot).has_value()) << "panning brushes nothing";
  Release(300, Qt::MiddleButton);
  QEvent leave(QEvent::Leave);
  QCoreApplication::sendEvent(&probe_, &leave);
  EXPECT_FALSE(gestures.cursor().has_value());
  // A press tells it too: the mouse may have come over the widget while that was not asked.
  Press(70);
  EXPECT_EQ(gestures.cursor(), QPointF(70, 50));
  Release(70);
}

TEST_F(TimeGesturesTest, PaintsWhatIsBrushed) {
  const Theme theme = Theme::From(probe_.palette());
  const auto paint = [&] {
    QImage image(kWidth, 100, QImage::Format_RGB32);
    image.fill(Qt::black);
    QPainter painter(&image);
    probe_.gestures().PaintBrushed(painter, QRectF(0, 10, kWidth, 80), theme);
    return image;
  };
  Press(100);
  Move(103);
  EXPECT_EQ(paint().pixelColor(101, 50), QColor(Qt::black));
  Move(200);
  const QImage image = paint();
  EXPECT_NE(image.pixelColor(150, 50), QColor(Qt::black));
  EXPECT_NE(image.pixelColor(150, 50), theme.accent) << "what lies below is seen through it";
  for (const QPoint outside : {QPoint(98, 50), QPoint(202, 50), QPoint(150, 8), QPoint(150, 92)})
    EXPECT_EQ(image.pixelColor(outside), QColor(Qt::black));
  Release(200);
}

TEST_F(TimeGesturesTest, TheWheelZoomsAtTheMouse) {
  Wheel(100, {0, 120});
  ExpectWindow(20, 340, "0.8 times as wide, pixel 100 stays");
  Wheel(100, {0, -120});
  ExpectWindow(0, 400);
  // Half a notch of a fine wheel, and several at once.
  Wheel(0, {0, 60});
  ExpectWindow(0, 400 * std::sqrt(0.8));
  Wheel(0, {0, 300});
  ExpectWindow(0, 400 * 0.8 * 0.8 * 0.8);
}

TEST_F(TimeGesturesTest, TheWheelZoomsAtAnotherInstantWhereToldSo) {
  Probe mirrored(&selection_, true);
  Wheel(&mirrored, 100, {0, 120}, 0);
  ExpectWindow(60, 380, "pixel 300 stays");
}

TEST_F(TimeGesturesTest, TheWheelWithShiftOrSidewaysPans) {
  selection_.SetWindow({100 * kPixel, 200 * kPixel});
  // 60 pixels a notch; one is a quarter of a pixel of the whole.
  Wheel(100, {0, -120}, 0, Qt::ShiftModifier);
  ExpectWindow(115, 215);
  Wheel(100, {120, 0}, 0, Qt::ShiftModifier);
  ExpectWindow(100, 200, "some systems turn a wheel with Shift sideways");
  Wheel(100, {-240, 30});
  ExpectWindow(130, 230, "more sideways than up");
  Wheel(100, {30, 120});
  ExpectWindow(135, 215, "more up than sideways zooms");
}

TEST_F(TimeGesturesTest, OneTurnOfTheWheelIsOneEntry) {
  Wheel(100, {0, 120}, 1000);
  Wheel(100, {0, 120}, 1200);
  Wheel(100, {0, 120}, 1800);
  EXPECT_EQ(Entries(), 1) << "600 ms are no pause";
  Wheel(100, {0, 120}, 10'000);
  Wheel(100, {0, 120}, 10'601);
  EXPECT_EQ(Entries(), 2) << "601 ms are one";
}

TEST_F(TimeGesturesTest, WhatIsDoneBetweenTwoTurnsParts) {
  Wheel(100, {0, 120}, 1000);
  Drag(200, 180, Qt::MiddleButton);
  Wheel(100, {0, 120}, 1100);
  EXPECT_EQ(Entries(), 3);
  Wheel(100, {0, 120}, 5000);
  QTest::keyClick(&probe_, Qt::Key_Right);
  Wheel(100, {0, 120}, 5100);
  EXPECT_EQ(Entries(), 3);
}

TEST_F(TimeGesturesTest, GesturesOfTwoPlotsAreApart) {
  Probe other(&selection_);
  Wheel(&probe_, 100, {0, 120}, 1000);
  Wheel(&other, 100, {0, 120}, 1100);
  EXPECT_NE(probe_.gestures().current(), other.gestures().current());
  EXPECT_EQ(Entries(), 2);
  // The same number would make one entry of two plots' first gestures.
  const int mine = probe_.gestures().Begin(), its = other.gestures().Begin();
  EXPECT_NE(mine, its);
  EXPECT_NE(mine, 0) << "0 is no gesture";
  EXPECT_EQ(probe_.gestures().current(), mine);
}

TEST_F(TimeGesturesTest, KeysMoveAndZoomAtTheInstant) {
  const TimeWindow start{100 * kPixel, 300 * kPixel};
  selection_.SetInstant(150 * kPixel);
  // An eighth of what is shown; half, or twice, around pixel 150.
  using Case = std::tuple<Qt::Key, double, double>;
  for (const auto& [key, begin, end] :
       {Case{Qt::Key_Left, 75, 275}, Case{Qt::Key_Right, 125, 325}, Case{Qt::Key_Up, 125, 225},
        Case{Qt::Key_Plus, 125, 225}, Case{Qt::Key_Equal, 125, 225}, Case{Qt::Key_Down, 0, 400},
        Case{Qt::Key_Minus, 0, 400}}) {
    selection_.SetWindow(start);
    QTest::keyClick(&probe_, key);
    EXPECT_TRUE(probe_.key_taken);
    ExpectWindow(begin, end, QKeySequence(key).toString().toStdString().c_str());
  }
  selection_.SetWindow(start);
  QTest::keyClick(&probe_, Qt::Key_A);
  EXPECT_FALSE(probe_.key_taken);
  ExpectWindow(100, 300);
}

TEST_F(TimeGesturesTest, EveryKeyIsAnEntry) {
  selection_.SetWindow({100 * kPixel, 200 * kPixel});
  QTest::keyClick(&probe_, Qt::Key_Right);
  QTest::keyClick(&probe_, Qt::Key_Right);
  EXPECT_EQ(Entries(), 3);
}

}  // namespace
}  // namespace memprof::viewer
