// The timeline of all devices: which rows are made, where they are drawn, what a click chooses.
#include "viewer/views/timeline_rows.h"

#include <gtest/gtest.h>

#include <QComboBox>

#include "analysis/base/sizes.h"
#include "tests/viewer/window_fixture.h"
#include "viewer/views/timeline_view.h"

namespace memprof::viewer {
namespace {

using analysis::kMiB;
using analysis::Layer;
using testing::Grab;
using testing::Near;

class RowsTest : public testing::WindowFixture {
 protected:
  // One log for each rank, of 10 MiB more than the one before, each on a device of its own.
  void OpenRanks(int ranks) {
    QStringList paths;
    for (int rank = 0; rank < ranks; ++rank) {
      analysis::testing::LogBuilder log;
      log.header().set_pid(static_cast<std::uint32_t>(100 + rank));
      log.header().set_hostname("node" + std::to_string(rank));
      log.header().add_environment("RANK=" + std::to_string(rank));
      log.Device(0, 1 << 30);
      log.AdvanceTime(1'000'000);
      log.Alloc(Layer::kLinear, 0x100000, static_cast<std::uint64_t>(rank + 1) * 10 * kMiB);
      log.AdvanceTime(8'000'000);
      log.Snapshot("the end");
      paths << directory_.filePath(QStringLiteral("r%1.mprof").arg(rank));
      ASSERT_TRUE(log.WriteTo(paths.back().toStdString()).ok());
    }
    window_.resize(1200, 760);
    window_.ShowView(ViewKind::kTimeline);
    window_.show();
    window_.OpenTogether(paths);
    window_.WaitUntilSettled();
  }
  TimelineView* view() { return window_.timeline(); }
  TimelineRows* rows() { return view()->rows(); }
  // Paints until nothing more is made.
  QImage Settled() {
    for (std::size_t i = 0; i < 40; ++i) {
      Grab(rows());
      window_.WaitUntilSettled();
    }
    return Grab(rows());
  }
};

TEST_F(RowsTest, HaveOneScaleAndAClickChooses) {
  OpenRanks(3);
  EXPECT_FALSE(view()->shows_rows());
  ASSERT_EQ(rows()->rows().size(), 3u);
  view()->setFocus();
  QTest::keyClick(view(), Qt::Key_R);
  ASSERT_TRUE(rows()->isVisible());
  EXPECT_EQ(view()->whole_choice()->currentText(), QStringLiteral("All devices"));
  const QImage image = Settled();
  const QColor linear = theme().Band(BandRole::kLinear);
  for (std::size_t row = 0; row < 3; ++row) {
    ASSERT_TRUE(rows()->made(row));
    const QRectF plot = rows()->PlotOf(row);
    EXPECT_NEAR(plot.left(), view()->PlotRect().left(), 1) << "below the timeline's plot";
    const int x = static_cast<int>(plot.center().x()) + 30;
    int high = 0;
    for (int y = static_cast<int>(plot.top()); y < static_cast<int>(plot.bottom()); ++y)
      high += Near(image.pixelColor(x, y), linear);
    const double expected = plot.height() * static_cast<double>(row + 1) / 3 / 1.05;
    EXPECT_NEAR(high, expected, 3) << "row " << row;
  }
  const auto click = [&](std::size_t row) { return rows()->PlotOf(row).center().toPoint(); };
  QTest::mouseClick(rows(), Qt::LeftButton, {}, click(1));
  EXPECT_EQ(window_.selection().device(), rows()->rows()[1].device);
  EXPECT_EQ(window_.selection().filter().process, rows()->rows()[1].process);
  QTest::keyClick(rows(), Qt::Key_Down);
  EXPECT_EQ(window_.selection().device(), rows()->rows()[2].device);
  // Opened alone: the stack of that process.
  QTest::keyClick(rows(), Qt::Key_Return);
  window_.WaitUntilSettled();
  EXPECT_FALSE(view()->shows_rows());
  EXPECT_EQ(view()->stacks()->bands()->top.max(), 30 * kMiB);
}

TEST_F(RowsTest, OnlyThoseThatAreShownAreMade) {
  OpenRanks(40);
  view()->ShowRows(true);
  ASSERT_EQ(rows()->rows().size(), 40u);
  Settled();
  const std::size_t shown = rows()->layout().last();
  EXPECT_LT(shown, 20u);
  for (std::size_t row = 0; row < 40; ++row) EXPECT_EQ(rows()->made(row), row < shown) << row;
  // The keyboard goes to the last one, which is made then. What was not seen for long is dropped.
  rows()->setFocus();
  QTest::mouseClick(rows(), Qt::LeftButton, {}, rows()->PlotOf(0).center().toPoint());
  for (int i = 0; i < 39; ++i) {
    QTest::keyClick(rows(), Qt::Key_Down);
    if (i % 4 == 0) Settled();
  }
  Settled();
  EXPECT_EQ(window_.selection().device(), rows()->rows()[39].device);
  EXPECT_EQ(rows()->layout().last(), 40u);
  EXPECT_TRUE(rows()->made(39));
  std::size_t made = 0;
  for (std::size_t row = 0; row < 40; ++row) made += rows()->made(row);
  EXPECT_LE(made, 24 + shown + 1);
  // Another grouping makes the shown rows anew.
  view()->stacks()->SetGrouping(analysis::TimelineGrouping::kSite);
  EXPECT_FALSE(rows()->made(39));
  Settled();
  EXPECT_TRUE(rows()->made(39));
}

TEST_F(RowsTest, TheLegendSaysThatAFilterDoesNotHold) {
  OpenRanks(3);
  const QString note = QStringLiteral("rows show all memory: no filter");
  view()->ShowRows(true);
  EXPECT_FALSE(view()->Notes().contains(note));
  analysis::AllocationFilter filter;
  filter.process = 1;  // a chosen row is no filter
  window_.selection().SetFilter(filter);
  EXPECT_FALSE(view()->Notes().contains(note));
  filter.text = "nothing";
  window_.selection().SetFilter(filter);
  EXPECT_TRUE(view()->Notes().contains(note));
  view()->ShowRows(false);
  EXPECT_FALSE(view()->Notes().contains(note));
}

TEST_F(RowsTest, OneDeviceHasNoRows) {
  Open({.steps = 4});
  EXPECT_EQ(rows()->rows().size(), 1u);
  view()->ShowRows(true);
  EXPECT_FALSE(view()->shows_rows());
  EXPECT_FALSE(rows()->isVisible());
  EXPECT_EQ(view()->whole_choice()->findText(QStringLiteral("All devices")), -1);
}

}  // namespace
}  // namespace memprof::viewer
