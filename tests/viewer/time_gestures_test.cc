// The effect of drags and clicks on the time window, and how many history entries they make.
#include "viewer/views/time_gestures.h"

#include <gtest/gtest.h>

#include <QCoreApplication>
#include <QImage>
#include <QTest>
#include <cmath>
#include <optional>
#include <tuple>
#include <utility>

#include "tests/viewer/gestures_fixture.h"

namespace memprof::viewer {
namespace {

using testing::kGestureBounds;
using testing::kGesturePixel;
using testing::kGestureWidth;
using testing::TimeGesturesTest;

TEST_F(TimeGesturesTest, DraggingBrushesAWindowEitherWay) {
  Drag(100, 300);
  ExpectWindow(100, 300);
  EXPECT_FALSE(probe_.clicked.has_value());
  selection_.Back();
  Drag(300, 100);
  ExpectWindow(100, 300, "from right to left");
  // After the zoom, a pixel is half as long.
  Drag(100, 300);
  ExpectWindow(150, 250);
  EXPECT_EQ(Entries(), 2);
  EXPECT_EQ(selection_.instant(), 200 * kGesturePixel) << "the chosen instant stays";
}

TEST_F(TimeGesturesTest, BrushingPastTheEdgeEndsAtTheWindow) {
  selection_.SetWindow({100 * kGesturePixel, 300 * kGesturePixel});
  Press(200);
  Release(kGestureWidth + 90);
  ExpectWindow(200, 300);
}

TEST_F(TimeGesturesTest, WhatMovesUpToFourPixelsIsAClick) {
  for (const int by : {0, 1, -1, 4, -4}) {
    Drag(200, 200 + by);
    ASSERT_TRUE(probe_.clicked.has_value()) << by;
    EXPECT_EQ(*probe_.clicked, QPointF(200 + by, 50)) << "where the button was released";
    ExpectWindow(0, kGestureWidth);
  }
  for (const int by : {5, -5}) {
    Drag(200, 200 + by);
    EXPECT_FALSE(probe_.clicked.has_value()) << by;
    EXPECT_TRUE(selection_.zoomed()) << by;
    selection_.Back();
  }
  // A vertical movement is no distance in time.
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
  EXPECT_FALSE(probe_.clicked.has_value()) << "with Shift it is a pan without movement";
  EXPECT_FALSE(selection_.can_back());
}

TEST_F(TimeGesturesTest, AnotherButtonWithinABrushLeavesItsBegin) {
  Press(100);
  Press(180, Qt::RightButton);
  EXPECT_EQ(probe_.gestures().from(), QPointF(100, 50));
  EXPECT_TRUE(probe_.gestures().dragging());
  // Releasing that button cancels the brush.
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
    selection_.Reset(kGestureBounds, 200 * kGesturePixel, 0);
    selection_.SetWindow({100 * kGesturePixel, 200 * kGesturePixel});
    Press(200, button, modifier);
    EXPECT_TRUE(probe_.gestures().panning());
    EXPECT_EQ(probe_.cursor().shape(), Qt::ClosedHandCursor);
    // The time under the mouse moves with it: 40 pixels of the zoomed window are 10 of the whole.
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
    EXPECT_EQ(Entries(), 2)
        << "the whole drag is one entry, in addition to the window that was set";
  }
}

TEST_F(TimeGesturesTest, PanningStopsAtTheBounds) {
  selection_.SetWindow({100 * kGesturePixel, 200 * kGesturePixel});
  Drag(10, 390, Qt::MiddleButton);
  ExpectWindow(5, 105);
  Drag(10, 390, Qt::MiddleButton);
  ExpectWindow(0, 100);
}

TEST_F(TimeGesturesTest, EachDragIsAnEntryOfItsOwn) {
  selection_.SetWindow({100 * kGesturePixel, 200 * kGesturePixel});
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
  ExpectWindow(0, kGestureWidth);
  QTest::mouseClick(&probe_, Qt::ForwardButton, {}, QPoint(50, 50));
  ExpectWindow(100, 300);
  EXPECT_FALSE(probe_.clicked.has_value());
}

TEST_F(TimeGesturesTest, ShowsWhereTheMouseIsAndWhatIsBrushed) {
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
  EXPECT_EQ(gestures.Brushed(plot), QRectF(120, 10, 80, 80)) << "to the left of the start";
  Move(399);
  EXPECT_EQ(gestures.Brushed(plot), QRectF(200, 10, 180, 80)) << "limited to the plot";
  Release(399);
  EXPECT_FALSE(gestures.Brushed(plot).has_value());
  Press(200, Qt::MiddleButton);
  Move(300);
  EXPECT_FALSE(gestures.Brushed(plot).has_value()) << "a pan is not a brush";
  Release(300, Qt::MiddleButton);
  QEvent leave(QEvent::Leave);
  QCoreApplication::sendEvent(&probe_, &leave);
  EXPECT_FALSE(gestures.cursor().has_value());
  // A press updates the position too: the mouse may have entered the widget without events.
  Press(70);
  EXPECT_EQ(gestures.cursor(), QPointF(70, 50));
  Release(70);
}

TEST_F(TimeGesturesTest, PaintsWhatIsBrushed) {
  const Theme theme = Theme::From(probe_.palette());
  const auto paint = [&] {
    QImage image(kGestureWidth, 100, QImage::Format_RGB32);
    image.fill(Qt::black);
    QPainter painter(&image);
    probe_.gestures().PaintBrushed(painter, QRectF(0, 10, kGestureWidth, 80), theme);
    return image;
  };
  Press(100);
  Move(103);
  EXPECT_EQ(paint().pixelColor(101, 50), QColor(Qt::black));
  Move(200);
  const QImage image = paint();
  EXPECT_NE(image.pixelColor(150, 50), QColor(Qt::black));
  EXPECT_NE(image.pixelColor(150, 50), theme.accent) << "the brush is transparent";
  for (const QPoint outside : {QPoint(98, 50), QPoint(202, 50), QPoint(150, 8), QPoint(150, 92)})
    EXPECT_EQ(image.pixelColor(outside), QColor(Qt::black));
  Release(200);
}

}  // namespace
}  // namespace memprof::viewer
