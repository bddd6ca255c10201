// The drawn timeline: colours at the positions of the geometry, mouse and keys.
#include "viewer/views/timeline_view.h"

#include <gtest/gtest.h>

#include "analysis/base/sizes.h"
#include "tests/viewer/timeline_fixture.h"
#include "viewer/views/overview_strip.h"

namespace memprof::viewer {
namespace {

using analysis::kMiB;
using analysis::Layer;
using testing::Count;
using testing::Grab;
using testing::Near;
using testing::TimelineTest;

TEST_F(TimelineTest, LayersAreDrawnWhereTheirBytesAre) {
  OpenPlateaus();
  const QImage image = Grab(view());
  const QColor linear = theme().Band(BandRole::kLinear);
  const QColor managed = theme().Band(BandRole::kManaged);
  for (const double seconds : {0.1, 0.25, 0.35, 0.5, 0.65, 0.8}) {
    EXPECT_TRUE(Near(image.pixelColor(X(seconds), Y(2)), linear)) << seconds;
    EXPECT_TRUE(Near(image.pixelColor(X(seconds), Y(39)), linear)) << seconds;
    const QColor above = image.pixelColor(X(seconds), Y(50));
    const bool there = seconds > 0.3 && seconds < 0.7;
    EXPECT_TRUE(Near(above, there ? managed : theme().surface)) << seconds;
  }
  EXPECT_TRUE(Near(image.pixelColor(X(0.6), Y(61.5)), theme().surface)) << "nothing above the sum";
}

TEST_F(TimelineTest, APeakWithinOneColumnIsSeenInItsOwnLayer) {
  // 30 MiB for a microsecond within one pixel column; an earlier, higher peak has the flag.
  analysis::testing::LogBuilder log;
  log.Device(0, 1 << 30);
  log.header().set_start_time_ns(kStart);
  log.SetTime(kStart);
  log.Alloc(Layer::kLinear, 0x10000000, 10 * kMiB);
  for (const std::uint64_t mib : {35, 30}) {
    log.SetTime(kStart + (mib == 35 ? 200'000'000 : 500'000'000));
    log.Alloc(Layer::kLinear, 0x20000000, mib * kMiB);
    log.AdvanceTime(1000);
    log.Free(0x20000000);
  }
  log.SetTime(kStart + 1'000'000'000);
  log.Alloc(Layer::kManaged, 0x30000000, kMiB);
  OpenLog(log);
  window_.selection().SetInstant(kStart);
  const QImage image = Grab(view());
  const QColor linear = theme().Band(BandRole::kLinear);
  const QColor at_times = theme().AtTimes(linear);
  int paler = 0;
  for (int x = X(0.5) - 2; x <= X(0.5) + 2; ++x) {
    paler += Near(image.pixelColor(x, Y(25)), at_times);
    EXPECT_TRUE(Near(image.pixelColor(x, Y(5)), linear)) << "always present: solid";
  }
  EXPECT_GE(paler, 1) << "paler: present only at times";
  EXPECT_LE(paler, 2) << "a microsecond is in one column, or at the border of two";
  EXPECT_TRUE(Near(image.pixelColor(X(0.5) + 3, Y(25)), theme().surface));
}

TEST_F(TimelineTest, TheCapacityIsALineWhereItIsNear) {
  Open({.steps = 10, .framework = false, .capacity = 30 * kMiB});
  QImage image = Grab(view());
  const QRect line(view()->PlotRect().toRect().left() + 5, Y(30) - 2, 300, 5);
  EXPECT_GT(Count(image, line, theme().danger), 100);
  Open({.steps = 10, .framework = false, .capacity = 30ull << 30});
  image = Grab(view());
  EXPECT_LT(Count(image, line, theme().danger), 30) << "at most the peak's flag";
}

TEST_F(TimelineTest, TheReadoutNamesEveryBandUnderTheMouse) {
  OpenPlateaus();
  const QImage before = Grab(view());
  QTest::mouseMove(view(), QPoint(X(0.5), Y(20)));
  const QImage image = Grab(view());
  const QRect beside(X(0.5) + 16, view()->PlotRect().toRect().top() + 10, 150, 60);
  EXPECT_GT(Count(image, beside, theme().surface), beside.width() * 20) << "a box";
  EXPECT_NE(image.copy(beside), before.copy(beside));
  EXPECT_GT(Count(image, beside, theme().Band(BandRole::kManaged)), 60) << "its swatch";
  QEvent leave(QEvent::Leave);
  QCoreApplication::sendEvent(view(), &leave);
  EXPECT_EQ(Grab(view()), before);
}

TEST_F(TimelineTest, ShiftDragMiddleDragAndKeysPan) {
  OpenPlateaus();
  Selection& selection = window_.selection();
  const auto zoom = [&] { selection.SetWindow({kStart + 400'000'000, kStart + 500'000'000}); };
  zoom();
  const QPoint from = view()->PlotRect().center().toPoint(), to = from - QPoint(100, 0);
  const double per_pixel = view()->Scale().NsPerPixel();
  for (const auto& [button, modifier] : {std::pair{Qt::LeftButton, Qt::ShiftModifier},
                                         std::pair{Qt::MiddleButton, Qt::NoModifier}}) {
    zoom();
    QTest::mousePress(view(), button, modifier, from);
    QTest::mouseMove(view(), to);
    QTest::mouseRelease(view(), button, modifier, to);
    EXPECT_NEAR(static_cast<double>(selection.window().begin - kStart), 4e8 + 100 * per_pixel, 1e4);
    EXPECT_EQ(selection.window().end - selection.window().begin, 100'000'000u);
  }
  zoom();
  view()->setFocus();
  QTest::keyClick(view(), Qt::Key_Right);
  EXPECT_NEAR(static_cast<double>(selection.window().begin - kStart), 4.125e8, 1e4);
  QTest::keyClick(view(), Qt::Key_Left);
  EXPECT_NEAR(static_cast<double>(selection.window().begin - kStart), 4e8, 1e4);
  selection.SetInstant(kStart + 450'000'000);
  QTest::keyClick(view(), Qt::Key_Plus);
  EXPECT_NEAR(static_cast<double>(selection.window().end - selection.window().begin), 5e7, 10);
  QTest::keyClick(view(), Qt::Key_Minus);
  EXPECT_NEAR(static_cast<double>(selection.window().end - selection.window().begin), 1e8, 10);
  testing::Wheel(view(), from, {0, 120}, Qt::ShiftModifier);
  EXPECT_NEAR(static_cast<double>(selection.window().begin - kStart), 4e8 - 60 * per_pixel, 1e4);
  QTest::mouseClick(view(), Qt::BackButton, {}, from);
  EXPECT_NEAR(static_cast<double>(selection.window().begin - kStart), 4e8, 1e4);
  QTest::mouseClick(view(), Qt::ForwardButton, {}, from);
  EXPECT_LT(selection.window().begin, kStart + 400'000'000);
  QTest::keyClick(&window_, Qt::Key_Home);
  EXPECT_FALSE(selection.zoomed());
}

TEST_F(TimelineTest, TheOverviewVeilsWhatIsOutsideTheWindow) {
  OpenPlateaus();
  auto* strip = window_.findChild<OverviewStrip*>();
  const QRectF plot = strip->PlotRect();
  const auto at = [&](const QImage& image, double share) {
    return image.pixelColor(static_cast<int>(plot.left() + plot.width() * share),
                            static_cast<int>(plot.bottom()) - 4);
  };
  const QColor linear = theme().Band(BandRole::kLinear);
  EXPECT_TRUE(Near(at(Grab(strip), 0.1), linear));
  window_.selection().SetWindow({kStart + 400'000'000, kStart + 600'000'000});
  const QImage image = Grab(strip);
  EXPECT_FALSE(Near(at(image, 0.1), linear));
  EXPECT_TRUE(Near(at(image, 0.5), linear));
  EXPECT_FALSE(Near(at(image, 0.9), linear));
  // Dragging inside the window moves it; the wheel zooms around the mouse.
  const QPoint middle = plot.center().toPoint(), later = middle + QPoint(50, 0);
  QTest::mousePress(strip, Qt::LeftButton, {}, middle);
  QTest::mouseMove(strip, later);
  QTest::mouseRelease(strip, Qt::LeftButton, {}, later);
  const analysis::TimeWindow moved = window_.selection().window();
  EXPECT_NEAR(static_cast<double>(moved.begin - kStart), 4e8 + 50 / plot.width() * 1e9, 2e6);
  EXPECT_NEAR(static_cast<double>(moved.end - moved.begin), 2e8, 10);
  testing::Wheel(strip, later, {0, 120});
  EXPECT_NEAR(
      static_cast<double>(window_.selection().window().end - window_.selection().window().begin),
      1.6e8, 10);
}

}  // namespace
}  // namespace memprof::viewer
