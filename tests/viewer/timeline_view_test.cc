// The timeline as it is drawn: colours where the geometry says, ranges, steps, mouse and keys.
#include "viewer/views/timeline_view.h"

#include <gtest/gtest.h>

#include <QAction>
#include <QComboBox>
#include <QMenuBar>

#include "tests/viewer/window_fixture.h"
#include "viewer/geometry/units.h"
#include "viewer/views/overview_strip.h"
#include "viewer/views/timeline_painter.h"

namespace memprof::viewer {
namespace {

using analysis::Layer;
using analysis::TimeNs;
using testing::Blend;
using testing::Count;
using testing::Grab;
using testing::Near;
using testing::TipAt;

constexpr std::uint64_t kMiB = 1 << 20;

class TimelineTest : public testing::WindowFixture {
 protected:
  TimelineView* view() { return window_.timeline(); }

  // 40 MiB for all of the second; 20 MiB of another layer from 0.3 s to 0.7 s; two steps, of 0.2 s
  // and 0.8 s; in the second a range with one inside.
  void OpenPlateaus() {
    analysis::testing::LogBuilder log;
    log.Device(0, 1 << 30);
    log.Thread(1, 77, "trainer");
    log.header().set_start_time_ns(kStart);
    log.SetTime(kStart);
    log.Step(0);
    log.Alloc(Layer::kLinear, 0x10000000, 40 * kMiB);
    log.SetTime(kStart + 200'000'000);
    log.Step(1);
    log.SetTime(kStart + 300'000'000);
    log.RangePush("forward");
    log.SetTime(kStart + 300'001'000);
    log.Alloc(Layer::kManaged, 0x20000000, 20 * kMiB);
    log.SetTime(kStart + 400'000'000);
    log.RangePush("attention");
    log.SetTime(kStart + 500'000'000);
    log.RangePop();
    log.SetTime(kStart + 700'000'000);
    log.Free(0x20000000);
    log.SetTime(kStart + 700'001'000);
    log.RangePop();
    log.SetTime(kStart + 1'000'000'000);
    log.Snapshot("the end");
    OpenLog(log);
    begin_ = window_.selection().bounds().begin;
    window_.selection().SetInstant(begin_);
  }

  int X(double seconds) {
    return static_cast<int>(view()->Scale().X(kStart + static_cast<TimeNs>(seconds * 1e9)));
  }
  int Y(double mib) {
    const QRectF plot = view()->PlotRect();
    return static_cast<int>(ByteScale{view()->AxisMax(), plot.bottom(), plot.height()}.Y(
        mib * static_cast<double>(kMiB)));
  }

  static constexpr TimeNs kStart = 5'000'000'000;
  TimeNs begin_ = 0;
};

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
  // 30 MiB for a microsecond within one pixel column; a higher one before, which has the flag.
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
    EXPECT_TRUE(Near(image.pixelColor(x, Y(5)), linear)) << "always there: solid";
  }
  EXPECT_GE(paler, 1) << "paler: it was there at times only";
  EXPECT_LE(paler, 2) << "a microsecond is in one column, or at the edge of two";
  EXPECT_TRUE(Near(image.pixelColor(X(0.5) + 3, Y(25)), theme().surface));
}

TEST_F(TimelineTest, RangesAreBoxesAboveThePlot) {
  OpenPlateaus();
  const QImage image = Grab(view());
  const RangeLane& lane = view()->lane();
  ASSERT_EQ(lane.lanes().rows, 2);
  ASSERT_EQ(lane.lanes().boxes.size(), 2u);
  const QRectF outer = lane.RectOf(lane.lanes().boxes[0]);
  const QRectF inner = lane.RectOf(lane.lanes().boxes[1]);
  EXPECT_NEAR(outer.left(), X(0.3), 2);
  EXPECT_NEAR(outer.right(), X(0.7), 2);
  EXPECT_NEAR(inner.left(), X(0.4), 2);
  EXPECT_GE(inner.top(), outer.bottom());
  EXPECT_LE(inner.bottom(), view()->PlotRect().top());
  const QColor fill = RangeLane::Color(QStringLiteral("forward"), theme());
  EXPECT_TRUE(Near(
      image.pixelColor(static_cast<int>(outer.right()) - 6, static_cast<int>(outer.center().y())),
      fill));
  const QRect label = outer.toRect().adjusted(2, 1, -8, -2);
  EXPECT_GT(label.width() * label.height() - Count(image, label, fill), 40) << "its name";
  EXPECT_TRUE(
      Near(image.pixelColor(X(0.1), static_cast<int>(outer.center().y())), theme().surface));
  EXPECT_NE(RangeLane::Color(QStringLiteral("forward"), theme()),
            RangeLane::Color(QStringLiteral("backward"), theme()));
}

TEST_F(TimelineTest, RangesTellWhatMemoryDidInThem) {
  OpenPlateaus();
  Grab(view());
  const RangeLane& lane = view()->lane();
  const QRectF outer = lane.RectOf(lane.lanes().boxes[0]);
  const QString text = TipAt(view(), QPoint(X(0.6), static_cast<int>(outer.center().y())));
  for (const char* part : {"<b>forward</b>", "400 ms long", "in step 1", "thread 77 trainer",
                           "40.0 MiB before, at most 60.0 MiB, 40.0 MiB after"}) {
    EXPECT_TRUE(text.contains(QString::fromUtf8(part))) << part << " in " << qPrintable(text);
  }
  EXPECT_EQ(lane.TextAt({static_cast<double>(X(0.1)), outer.center().y()}), QString());
  EXPECT_EQ(lane.TextAt(view()->PlotRect().center()), QString());
  // A double click zooms to it, another shows all again.
  QTest::mouseDClick(view(), Qt::LeftButton, {}, {X(0.6), static_cast<int>(outer.center().y())});
  EXPECT_EQ(window_.selection().window().begin, kStart + 300'000'000);
  EXPECT_EQ(window_.selection().window().end, kStart + 700'001'000);
  QTest::mouseDClick(view(), Qt::LeftButton, {}, view()->PlotRect().center().toPoint());
  EXPECT_FALSE(window_.selection().zoomed());
}

TEST_F(TimelineTest, WithoutRangesThereIsNoLane) {
  Open({.steps = 4, .framework = false});
  const double without = view()->PlotRect().top();
  EXPECT_EQ(view()->lane().lanes().rows, 0);
  Open({.steps = 4});
  EXPECT_GT(view()->PlotRect().top(), without);
  Grab(view());
  EXPECT_EQ(view()->lane().lanes().rows, 2);
}

TEST_F(TimelineTest, ManyThinRangesAreOneBoxThatSaysSo) {
  Open({.steps = 50});
  window_.resize(420, 400);
  Grab(view());
  const RangeLane& lane = view()->lane();
  QString text;
  for (const RangeBox& box : lane.lanes().boxes) {
    if (box.count > 1) text = lane.TextAt(lane.RectOf(box).center());
  }
  EXPECT_TRUE(text.contains(QStringLiteral("zoom in"))) << qPrintable(text);
}

TEST_F(TimelineTest, TheStepAxisMakesStepsEquallyWide) {
  OpenPlateaus();
  EXPECT_TRUE(view()->axis_choice()->isVisible());
  EXPECT_NEAR(X(0.2) - X(0), 0.2 * view()->PlotRect().width(), 2);
  view()->axis_choice()->setCurrentIndex(1);
  EXPECT_EQ(window_.selection().axis(), AxisKind::kSteps);
  const double width = view()->PlotRect().width();
  EXPECT_NEAR(X(0.2), view()->PlotRect().left() + width / 2, 2) << "step 1 begins in the middle";
  const QImage image = Grab(view());
  // 0.3 s to 0.7 s are an eighth to five eighths of the second step.
  const auto at = [&](double share) {
    return image.pixelColor(static_cast<int>(view()->PlotRect().left() + width * share), Y(50));
  };
  EXPECT_TRUE(Near(at(0.55), theme().surface));
  EXPECT_TRUE(Near(at(0.60), theme().Band(BandRole::kManaged)));
  EXPECT_TRUE(Near(at(0.78), theme().Band(BandRole::kManaged)));
  EXPECT_TRUE(Near(at(0.85), theme().surface));
  // The mouse is read on the same axis.
  QTest::mouseClick(view(), Qt::LeftButton, {},
                    {static_cast<int>(view()->PlotRect().left() + width / 2), Y(10)});
  EXPECT_NEAR(static_cast<double>(window_.selection().instant() - kStart), 2e8, 2e6);
  QTest::keyClick(&window_, Qt::Key_S);
  EXPECT_EQ(window_.selection().axis(), AxisKind::kTime);
  EXPECT_EQ(view()->axis_choice()->currentIndex(), 0);
}

TEST_F(TimelineTest, WithoutStepsThereIsNoStepAxis) {
  analysis::testing::LogBuilder log;
  log.Device(0, 1 << 30);
  log.Alloc(Layer::kLinear, 0x1000, kMiB);
  OpenLog(log);
  EXPECT_FALSE(view()->axis_choice()->isVisible());
  window_.selection().SetAxis(AxisKind::kSteps);
  EXPECT_EQ(view()->Scale().clock, nullptr);
  EXPECT_GT(testing::Colors(Grab(view())), 3);
}

TEST_F(TimelineTest, FlagsStandAtPeaksAndSnapshots) {
  OpenPlateaus();
  const QImage image = Grab(view());
  EXPECT_TRUE(Near(image.pixelColor(X(0.300001), Y(60)), theme().danger, 40)) << "the peak's dot";
  const QRect above(X(1) - 12, view()->PlotRect().toRect().top() - 24, 24, 16);
  EXPECT_GT(Count(image, above, theme().good), 5) << "the snapshot's sign";
}

// The line of the program that asked, not what it asked through, as the page on failures has it.
TEST_F(TimelineTest, AFailuresMarkNamesWhoAsked) {
  analysis::testing::LogBuilder log;
  log.Device(0, 1 << 30);
  const int stack = log.Stack({"main (train.cc:3)", "Model::Forward (model.cc:9)",
                               "c10::cuda::CUDACachingAllocator::malloc (c10.cc:7)",
                               "cudaMalloc (libcudart.so.12)"});
  log.AdvanceTime(1'000'000);
  log.Alloc(Layer::kLinear, 0x10000000, 40 * kMiB, {.stack = stack});
  log.AdvanceTime(1'000'000);
  log.AllocFailed(Layer::kLinear, 2048 * kMiB, {.stack = stack, .result = 2});
  log.AdvanceTime(1'000'000);
  log.Free(0x10000000);
  OpenLog(log);
  const double middle = view()->PlotRect().center().x();
  QString tip;
  for (int y = 0; y < view()->PlotRect().top() && tip.isEmpty(); ++y)
    for (int x = static_cast<int>(middle); x < view()->width() && tip.isEmpty(); x += 3)
      if (const QString at = TipAt(view(), QPoint(x, y)); at.contains(QStringLiteral("failed")))
        tip = at;
  EXPECT_TRUE(tip.contains(QStringLiteral("asked by Model::Forward (model.cc:9)")))
      << qPrintable(tip);
}

// A device that an allocator has filled is at its peak from then on: most of it is in use later.
TEST_F(TimelineTest, ThePeaksFlagStandsWhereReportsSayThatItWas) {
  analysis::testing::LogBuilder log;
  log.Device(0, 1 << 30);
  log.Step(0);
  log.Alloc(Layer::kLinear, 0x10000000, 40 * kMiB);
  log.Alloc(Layer::kSegment, 0x10000000, 40 * kMiB);
  log.Alloc(Layer::kBlock, 0x10000000, 10 * kMiB, {.aux0 = 10 * kMiB});
  log.Step(1);
  log.Alloc(Layer::kBlock, 0x10000000 + 10 * kMiB, 20 * kMiB, {.aux0 = 20 * kMiB});
  log.Free(Layer::kBlock, 0x10000000 + 10 * kMiB);
  log.Step(2);
  OpenLog(log);
  const auto& report = window_.document().report();
  ASSERT_NE(report, nullptr);
  ASSERT_EQ(report->report.peaks.size(), 1u);
  EXPECT_EQ(report->report.peaks[0].step, 1);
  const StackLine& allocated = window_.document().bands(0)->allocated;
  EXPECT_EQ(window_.document().session()->StepAt(allocated.time_of_max()), 0);
  EXPECT_EQ(view()->PeakOf(allocated), report->report.peaks[0].time);
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
  // Dragging inside the window moves it; the wheel zooms at the mouse.
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
