// The effect of wheel and keys on the time window, and how many history entries they make.
#include <gtest/gtest.h>

#include <QTest>
#include <cmath>
#include <optional>
#include <tuple>
#include <utility>

#include "tests/viewer/gestures_fixture.h"
#include "viewer/views/time_gestures.h"

namespace memprof::viewer {
namespace {

using analysis::TimeWindow;
using testing::GestureProbe;
using testing::kGesturePixel;
using testing::TimeGesturesTest;

TEST_F(TimeGesturesTest, TheWheelZoomsAtTheMouse) {
  Wheel(100, {0, 120});
  ExpectWindow(20, 340, "0.8 times as wide, pixel 100 stays");
  Wheel(100, {0, -120});
  ExpectWindow(0, 400);
  // Half a notch of a high-resolution wheel, and several notches at once.
  Wheel(0, {0, 60});
  ExpectWindow(0, 400 * std::sqrt(0.8));
  Wheel(0, {0, 300});
  ExpectWindow(0, 400 * 0.8 * 0.8 * 0.8);
}

TEST_F(TimeGesturesTest, TheWheelZoomsAtTheInstantThatTheViewNames) {
  GestureProbe mirrored(&selection_, true);
  Wheel(&mirrored, 100, {0, 120}, 0);
  ExpectWindow(60, 380, "pixel 300 stays");
}

TEST_F(TimeGesturesTest, TheWheelWithShiftOrSidewaysPans) {
  selection_.SetWindow({100 * kGesturePixel, 200 * kGesturePixel});
  // 60 pixels for each notch; each is a quarter of a pixel of the whole.
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
  EXPECT_EQ(Entries(), 1) << "600 ms are not a pause";
  Wheel(100, {0, 120}, 10'000);
  Wheel(100, {0, 120}, 10'601);
  EXPECT_EQ(Entries(), 2) << "601 ms are a pause";
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
  GestureProbe other(&selection_);
  Wheel(&probe_, 100, {0, 120}, 1000);
  Wheel(&other, 100, {0, 120}, 1100);
  EXPECT_NE(probe_.gestures().current(), other.gestures().current());
  EXPECT_EQ(Entries(), 2);
  // With the same number, the first gestures of two plots would be one entry.
  const int mine = probe_.gestures().Begin(), its = other.gestures().Begin();
  EXPECT_NE(mine, its);
  EXPECT_NE(mine, 0) << "0 means no gesture";
  EXPECT_EQ(probe_.gestures().current(), mine);
}

TEST_F(TimeGesturesTest, KeysMoveAndZoomAtTheInstant) {
  const TimeWindow start{100 * kGesturePixel, 300 * kGesturePixel};
  selection_.SetInstant(150 * kGesturePixel);
  // Left and right move by an eighth of the shown time; zooming halves or doubles it around pixel
  // 150.
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
  selection_.SetWindow({100 * kGesturePixel, 200 * kGesturePixel});
  QTest::keyClick(&probe_, Qt::Key_Right);
  QTest::keyClick(&probe_, Qt::Key_Right);
  EXPECT_EQ(Entries(), 3);
}

}  // namespace
}  // namespace memprof::viewer
