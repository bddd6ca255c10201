// Holes in a window: what is drawn, and the effect of clicks and keys.
#include "viewer/views/fragmentation_view.h"

#include <gtest/gtest.h>

#include <QComboBox>
#include <QTreeView>

#include "analysis/base/sizes.h"
#include "tests/viewer/table_fixture.h"
#include "tests/viewer/why_fixture.h"
#include "viewer/views/advice_view.h"
#include "viewer/views/fact_view.h"
#include "viewer/views/fragmentation_page.h"
#include "viewer/views/fragmentation_plot.h"
#include "viewer/views/name_delegate.h"
#include "viewer/views/oom_page.h"
#include "viewer/views/rich_label.h"

namespace memprof::viewer {
namespace {

using analysis::kMiB;
using analysis::Layer;
using analysis::Op;
using analysis::testing::LogBuilder;
using testing::Count;
using testing::Csv;
using testing::Grab;
using testing::WhyTest;

TEST_F(WhyTest, ALanePerPoolShowsWhatIsInUseAndFree) {
  Open({.steps = 12}, ViewKind::kFragmentation);
  EXPECT_EQ(fragmentation()->tabs()->currentIndex(), 0);
  FragmentationPlot* plot = fragmentation()->holes()->plot();
  ASSERT_EQ(plot->lanes(), 1);
  const QImage image = Grab(plot);
  const QRect lane = plot->LaneRect(0).toRect();
  EXPECT_GT(Count(image, lane, theme().Band(BandRole::kTensors)), 2000);
  EXPECT_GT(Count(image, lane, theme().Band(BandRole::kCached)), 200);
  EXPECT_GT(Count(image, lane, theme().danger), 20);  // the largest hole
}

TEST_F(WhyTest, TheMouseSetsInstantAndWindowAndTheKeysPan) {
  Open({.steps = 12}, ViewKind::kFragmentation);
  FragmentationPlot* plot = fragmentation()->holes()->plot();
  const QRectF area = plot->PlotRect();
  const auto at = [&](double share) {
    return QPoint(static_cast<int>(area.left() + share * area.width()),
                  static_cast<int>(area.center().y()));
  };
  QTest::mouseClick(plot, Qt::LeftButton, {}, at(0.5));
  const auto clicked = plot->Scale().At(at(0.5).x());
  EXPECT_EQ(selection().instant(), clicked);
  QTest::mousePress(plot, Qt::LeftButton, {}, at(0.25));
  QTest::mouseMove(plot, at(0.7));
  QTest::mouseRelease(plot, Qt::LeftButton, {}, at(0.75));
  const analysis::TimeWindow window = selection().window();
  const analysis::TimeWindow bounds = selection().bounds();
  EXPECT_NEAR(static_cast<double>(window.end - window.begin),
              0.5 * static_cast<double>(bounds.end - bounds.begin),
              0.02 * static_cast<double>(bounds.end - bounds.begin));
  QTest::keyClick(plot, Qt::Key_Right);
  EXPECT_GT(selection().window().begin, window.begin);
  QTest::keyClick(plot, Qt::Key_Plus);
  EXPECT_LT(selection().window().end - selection().window().begin, window.end - window.begin);
  testing::Wheel(plot, at(0.5), QPoint(0, 120));
  QTest::mouseDClick(plot, Qt::LeftButton, {}, at(0.5));
  EXPECT_EQ(selection().window().begin, bounds.begin);
  EXPECT_EQ(selection().window().end, bounds.end);
}

TEST_F(WhyTest, APinIsSelectedEverywhereAndTheWorstInstantIsAClickAway) {
  Open({.steps = 12}, ViewKind::kFragmentation);
  FragmentationPage* page = fragmentation()->holes();
  page->GoToWorst();
  window_.WaitUntilSettled();
  FactView* pins = page->pins();
  ASSERT_GT(pins->table()->rowCount(), 0);
  pins->setFocus();
  pins->setCurrentIndex(pins->table()->index(0, 0));
  EXPECT_EQ(selection().allocation(), pins->table()->row(0).allocation);
  EXPECT_EQ(selection().site(), pins->table()->row(0).site);
  EXPECT_TRUE(Csv(*fragmentation()).startsWith(QStringLiteral("joins_bytes,block_bytes,born")));
  // In the other direction: a selection made elsewhere is marked here.
  ASSERT_GT(pins->table()->rowCount(), 1);
  selection().SelectAllocation(pins->table()->row(1).allocation, pins->table()->row(1).site);
  EXPECT_EQ(pins->currentIndex().row(), 1);
}

TEST_F(WhyTest, TheFilterLeavesPinsOut) {
  Open({.steps = 12}, ViewKind::kFragmentation);
  FactView* pins = fragmentation()->holes()->pins();
  ASSERT_GT(pins->table()->rowCount(), 0);
  analysis::AllocationFilter filter;
  filter.text = "no such function";
  selection().SetFilter(filter);
  window_.WaitUntilSettled();
  EXPECT_EQ(pins->table()->rowCount(), 0);
  selection().Back();
  window_.WaitUntilSettled();
  EXPECT_GT(pins->table()->rowCount(), 0);
}

TEST_F(WhyTest, ANarrowTableOfHolesKeepsFilesAndLines) {
  Open({.steps = 12}, ViewKind::kFragmentation);
  fragmentation()->holes()->GoToWorst();
  window_.WaitUntilSettled();
  FactView* holes = fragmentation()->holes()->holes();
  QModelIndex site;
  for (int row = 0; row < holes->table()->rowCount() && !site.isValid(); ++row)
    if (const QModelIndex at = holes->table()->index(row, 2);
        at.data().toString().contains(QLatin1Char(':')))
      site = at;
  ASSERT_TRUE(site.isValid());
  const QString name = site.data().toString();
  const QString place = name.mid(name.lastIndexOf(QLatin1Char('(')));
  for (const int column : {2, 3}) {
    const auto* delegate = dynamic_cast<NameDelegate*>(holes->itemDelegateForColumn(column));
    ASSERT_NE(delegate, nullptr) << column;
    const int width = QFontMetrics(holes->font()).horizontalAdvance(name) * 3 / 4;
    EXPECT_TRUE(delegate->Shown(site, width, holes->font()).endsWith(place));
  }
}

TEST_F(WhyTest, ALogWithoutAnAllocatorSaysSo) {
  Open({.steps = 4, .framework = false}, ViewKind::kFragmentation);
  const QImage image = Grab(fragmentation()->holes()->plot());
  EXPECT_GT(testing::Colors(image), 2);  // some text
  EXPECT_FALSE(fragmentation()->holes()->pins()->isVisible());
}

TEST_F(WhyTest, APoolOfTheDriverHasALaneButNoHoles) {
  LogBuilder log;
  log.Device(0, 600 * kMiB);
  log.Alloc(Layer::kStreamOrdered, 0x100000000, 8 * kMiB, {.aux0 = 0x77});
  log.Event(Op::kPoolSample, Layer::kStreamOrdered, 0x77, 32 * kMiB, 0, {});
  log.AdvanceTime(5'000'000);
  log.Free(0x100000000);
  log.AdvanceTime(5'000'000);
  log.Event(Op::kPoolSample, Layer::kStreamOrdered, 0x77, 32 * kMiB, 0, {});
  OpenLog(log, ViewKind::kFragmentation);
  FragmentationPage* page = fragmentation()->holes();
  ASSERT_EQ(page->plot()->lanes(), 1);
  EXPECT_FALSE(page->pins()->isVisible());
  EXPECT_GT(Count(Grab(page->plot()), page->plot()->LaneRect(0).toRect(),
                  theme().Band(BandRole::kCached)),
            200);
}

}  // namespace
}  // namespace memprof::viewer
