// Lanes above the timeline's curves: ranges, steps, flags and marks.
#include <gtest/gtest.h>

#include "analysis/base/sizes.h"
#include "tests/viewer/timeline_fixture.h"
#include "viewer/views/overview_strip.h"
#include "viewer/views/timeline_view.h"

namespace memprof::viewer {
namespace {

using analysis::kMiB;
using analysis::Layer;
using testing::Count;
using testing::Grab;
using testing::Near;
using testing::TimelineTest;
using testing::TipAt;

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

TEST_F(TimelineTest, RangesShowWhatMemoryDidInThem) {
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
  // A double click zooms to it; another one zooms out.
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
  // 0.3 s to 0.7 s are from one eighth to five eighths of the second step.
  const auto at = [&](double share) {
    return image.pixelColor(static_cast<int>(view()->PlotRect().left() + width * share), Y(50));
  };
  EXPECT_TRUE(Near(at(0.55), theme().surface));
  EXPECT_TRUE(Near(at(0.60), theme().Band(BandRole::kManaged)));
  EXPECT_TRUE(Near(at(0.78), theme().Band(BandRole::kManaged)));
  EXPECT_TRUE(Near(at(0.85), theme().surface));
  // Mouse positions use the same axis.
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

// The program's line that made the request, not the library's, as on the page on failures.
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
  EXPECT_TRUE(tip.contains(QStringLiteral("requested by Model::Forward (model.cc:9)")))
      << qPrintable(tip);
}

// When an allocator has filled a device, reserved memory stays at its peak; the flag is where most
// memory is in use.
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

}  // namespace
}  // namespace memprof::viewer
