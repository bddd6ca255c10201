// The page of a fleet: its picture, what mouse and keys do, the table beside it.
#include "viewer/views/fleet_view.h"

#include <gtest/gtest.h>

#include <QComboBox>
#include <QLabel>
#include <QPushButton>
#include <QSignalSpy>
#include <QTableView>

#include "tests/viewer/fleet_file.h"
#include "tests/viewer/table_fixture.h"
#include "tests/viewer/window_fixture.h"
#include "viewer/models/fleet_rank_model.h"
#include "viewer/views/fleet_canvas.h"

namespace memprof::viewer {
namespace {

using testing::FileRank;
using testing::FleetBytes;
using testing::FleetHead;
using testing::FourSteps;
using testing::Grab;
using testing::kMiBytes;
using testing::Near;
using testing::TipAt;

class FleetViewTest : public ::testing::Test {
 protected:
  FleetViewTest() {
    view_.setPalette(MakePalette(false));
    view_.setFixedSize(1000, 600);
    view_.show();
  }
  std::shared_ptr<const FleetGrid> GridOf(const std::vector<FileRank>& ranks, int columns,
                                          const char* figure = "allocated_peak") {
    QJsonObject head = FleetHead(ranks, columns);
    head[QStringLiteral("figure")] = QString::fromUtf8(figure);
    const QString path = directory_.filePath(QStringLiteral("grid"));
    EXPECT_TRUE(testing::WriteBytes(path, FleetBytes(head, ranks)));
    const auto grid = ReadFleetGrid(path);
    EXPECT_TRUE(grid.ok()) << grid.status();
    return *grid;
  }
  void Show(std::shared_ptr<const FleetGrid> grid) {
    view_.SetGrid(std::move(grid));
    Settle();
  }
  static void Settle() {
    do {
      QCoreApplication::processEvents();
    } while (JobTracker::ActiveJobs() > 0);
    QCoreApplication::processEvents();
  }
  // A point of a cell, by its place in the picture of `rows` × `columns`.
  QPoint At(double place, double column, double rows = 5, double columns = 4) {
    const QRectF plot = view_.canvas()->PlotRect();
    return {static_cast<int>(plot.left() + (column + 0.5) * plot.width() / columns),
            static_cast<int>(plot.top() + (place + 0.5) * plot.height() / rows)};
  }
  QColor ColorAt(double place, double column) {
    return Grab(view_.canvas()).pixelColor(At(place, column));
  }
  Theme theme() const { return Theme::From(view_.palette()); }

  QTemporaryDir directory_;
  FleetView view_;
};

TEST_F(FleetViewTest, ColoursAreTheDistanceFromTheStagesMedian) {
  Show(GridOf(FourSteps(), 4));
  EXPECT_TRUE(Near(ColorAt(0, 3), theme().Diverging(1))) << "30 MiB of at most 30";
  EXPECT_TRUE(Near(ColorAt(0, 1), theme().Diverging(1 / 3.0)));
  EXPECT_TRUE(Near(ColorAt(1, 3), theme().Diverging(0)));
  EXPECT_TRUE(Near(ColorAt(2, 0), theme().Diverging(-2 / 30.0)));
  EXPECT_TRUE(Near(ColorAt(4, 0), theme().Diverging(0))) << "alone in its stage";
  EXPECT_TRUE(Near(ColorAt(4, 3), theme().surface)) << "no such step";
  view_.order()->setCurrentIndex(1);
  Settle();
  EXPECT_TRUE(Near(ColorAt(2, 3), theme().Diverging(1))) << "by rank";
  view_.coloring()->setCurrentIndex(1);
  Settle();
  EXPECT_TRUE(Near(ColorAt(2, 3), theme().Ramp(1)));
  EXPECT_TRUE(Near(ColorAt(4, 0), theme().Ramp(0)));
  view_.setPalette(MakePalette(true));
  Settle();
  EXPECT_TRUE(Near(ColorAt(2, 3), theme().Ramp(1))) << "of the dark theme";
}

TEST_F(FleetViewTest, OneOddCellAmongManyIsSeen) {
  std::vector<FileRank> ranks;
  for (int rank = 0; rank < 2000; ++rank)
    ranks.push_back({rank, 0, 0, -1, {}, std::vector<double>(1500, 100 * kMiBytes)});
  ranks[1111].values[777] = 150 * kMiBytes;
  Show(GridOf(ranks, 1500));
  const QImage image = Grab(view_.canvas());
  const QColor odd = theme().Diverging(1);
  EXPECT_EQ(testing::Count(image, view_.canvas()->PlotRect().toRect().adjusted(1, 5, -1, -1), odd),
            1);
}

TEST_F(FleetViewTest, TheTipHasEverythingOfTheCell) {
  Show(GridOf(FourSteps(), 4));
  const QString tip = TipAt(view_.canvas(), At(0, 3));
  for (const char* words : {"rank 2", "host node0", "stage 0", "step 13", "130 MiB", "100 MiB",
                            "+30.0 MiB", "16.6 robust"})
    EXPECT_TRUE(tip.contains(QString::fromUtf8(words))) << words << " in " << tip.toStdString();
  EXPECT_TRUE(TipAt(view_.canvas(), At(4, 3)).contains(QStringLiteral("has no such step")));
  EXPECT_EQ(TipAt(view_.canvas(), {2, 2}), QString()) << "outside";
  std::vector<FileRank> ranks = FourSteps();
  QJsonObject head = FleetHead(ranks, 4);
  QJsonArray rows = head[QStringLiteral("rows")].toArray();
  QJsonObject row = rows[0].toObject();
  row[QStringLiteral("host")] = QStringLiteral("<img src='x'>");
  rows[0] = row;
  head[QStringLiteral("rows")] = rows;
  const QString path = directory_.filePath(QStringLiteral("hostile"));
  ASSERT_TRUE(testing::WriteBytes(path, FleetBytes(head, ranks)));
  Show(*ReadFleetGrid(path));
  EXPECT_TRUE(TipAt(view_.canvas(), At(0, 0)).contains(QStringLiteral("&lt;img")));
}

TEST_F(FleetViewTest, MapAndTableChooseTheSameRank) {
  Show(GridOf(FourSteps(), 4));
  EXPECT_EQ(view_.canvas()->chosen(), 0u) << "the first outlier";
  EXPECT_EQ(view_.table()->currentIndex().row(), 0);
  QTest::mouseClick(view_.canvas(), Qt::LeftButton, {}, At(2, 1));
  EXPECT_EQ(view_.canvas()->chosen(), 2u);
  EXPECT_EQ(view_.table()->currentIndex().row(), 2);
  testing::ClickCell(view_.table(), 3, FleetRankModel::kHost);
  EXPECT_EQ(view_.canvas()->chosen(), 3u);
  view_.order()->setCurrentIndex(1);
  Settle();
  EXPECT_EQ(view_.canvas()->chosen(), 3u) << "another order, the same rank";
  QTest::keyClick(view_.canvas(), Qt::Key_Up);
  EXPECT_EQ(view_.canvas()->chosen(), 0u) << "rank 2 is above rank 3";
  EXPECT_EQ(view_.table()->currentIndex().row(), 2);
  QTest::keyClick(view_.canvas(), Qt::Key_PageUp);
  EXPECT_EQ(view_.canvas()->chosen(), 1u) << "rank 0";
  QTest::keyClick(view_.canvas(), Qt::Key_PageDown);
  EXPECT_EQ(view_.canvas()->chosen(), 4u);
  QTest::keyClick(view_.canvas(), Qt::Key_Down);
  EXPECT_EQ(view_.canvas()->chosen(), 4u) << "the last";
}

TEST_F(FleetViewTest, ComparingIsADoubleClickEnterOrTheButton) {
  Show(GridOf(FourSteps(), 4));
  QSignalSpy compare(&view_, &FleetView::CompareWanted), open(&view_, &FleetView::OpenWanted);
  QTest::mouseDClick(view_.canvas(), Qt::LeftButton, {}, At(2, 1));
  QTest::keyClick(view_.canvas(), Qt::Key_Down);
  QTest::keyClick(view_.canvas(), Qt::Key_Return);
  view_.compare_button()->click();
  view_.open_button()->click();
  ASSERT_EQ(compare.count(), 3);
  EXPECT_EQ(compare[0][0].toULongLong(), 2u);
  EXPECT_EQ(compare[1][0].toULongLong(), 3u);
  EXPECT_EQ(compare[2][0].toULongLong(), 3u);
  ASSERT_EQ(open.count(), 1);
  EXPECT_EQ(open[0][0].toULongLong(), 3u);
  QTest::keyClick(view_.canvas(), Qt::Key_Down);
  EXPECT_FALSE(view_.compare_button()->isEnabled()) << "no rank is typical for rank 5";
  EXPECT_TRUE(view_.open_button()->isEnabled());
}

TEST_F(FleetViewTest, WheelDragAndKeysZoom) {
  Show(GridOf(FourSteps(), 4));
  FleetCanvas* canvas = view_.canvas();
  const HeatView whole = canvas->WholeView();
  testing::Wheel(canvas, At(0, -0.4), {0, 120});
  EXPECT_EQ(canvas->view(), (HeatView{0, 5, 0, 3})) << "steps, at the mouse";
  canvas->Back();
  EXPECT_EQ(canvas->view(), whole);
  canvas->Forward();
  EXPECT_EQ(canvas->view(), (HeatView{0, 5, 0, 3}));
  QTest::keyClick(canvas, Qt::Key_Right);
  EXPECT_EQ(canvas->view(), (HeatView{0, 5, 1, 4}));
  canvas->ShowAll();
  testing::Wheel(canvas, At(4.4, 0), {0, 120}, Qt::ControlModifier);
  EXPECT_EQ(canvas->view(), (HeatView{1, 5, 0, 4})) << "ranks";
  canvas->Choose(0);
  EXPECT_EQ(canvas->view(), (HeatView{0, 4, 0, 4})) << "the chosen rank is in view";
  canvas->ShowAll();
  QTest::mousePress(canvas, Qt::LeftButton, {}, At(1, 1));
  QTest::mouseMove(canvas, At(2, 2));
  QTest::mouseRelease(canvas, Qt::LeftButton, {}, At(2, 2));
  EXPECT_EQ(canvas->view(), (HeatView{1, 3, 1, 3})) << "a rectangle";
  QTest::mousePress(canvas, Qt::LeftButton, Qt::ShiftModifier, At(0, 0, 2, 2));
  QTest::mouseMove(canvas, At(1, 1, 2, 2));
  QTest::mouseRelease(canvas, Qt::LeftButton, Qt::ShiftModifier, At(1, 1, 2, 2));
  EXPECT_EQ(canvas->view(), (HeatView{0, 2, 0, 2})) << "moved";
  Settle();
  EXPECT_TRUE(TipAt(canvas, At(0, 1, 2, 2)).contains(QStringLiteral("step 11")));
  canvas->ShowAll();
  QTest::mousePress(canvas, Qt::LeftButton, {}, At(1, 1));
  QTest::mouseRelease(canvas, Qt::LeftButton, {}, At(1, 2));
  EXPECT_EQ(canvas->view(), (HeatView{0, 5, 1, 3})) << "a drag along steps leaves the ranks";
  QTest::keyClick(canvas, Qt::Key_Minus);
  EXPECT_EQ(canvas->view(), whole);
  QTest::keyClick(canvas, Qt::Key_Plus, Qt::ControlModifier);
  EXPECT_EQ(canvas->view().column_end, 4u);
  EXPECT_LT(canvas->view().row_end - canvas->view().row_begin, 5u);
}

TEST_F(FleetViewTest, ChoicesAreWishesAndAProblemTakesThemBack) {
  view_.ShowWaiting(QStringLiteral("Reading <b>"));
  EXPECT_EQ(view_.Waiting(), QStringLiteral("Reading &lt;b&gt;"));
  view_.ShowProblem(QStringLiteral("no Python"));
  EXPECT_EQ(view_.Waiting(), QStringLiteral("no Python"));
  Show(GridOf(FourSteps(), 4));
  EXPECT_EQ(
      view_.Summary(),
      QStringLiteral("5 ranks, 4 steps. 1 is apart from the ranks of their stage by more than "
                     "3.5 robust standard deviations."));
  EXPECT_EQ(view_.jobs()->itemText(1), QStringLiteral("4711, attempt 0 · 2026-11-26 · 5 ranks"));
  EXPECT_EQ(view_.jobs()->itemText(2), QStringLiteral("old · 2026-11-26 · 5 ranks"));
  QSignalSpy wanted(&view_, &FleetView::Wanted);
  view_.jobs()->setCurrentIndex(1);
  emit view_.jobs()->activated(1);
  view_.figures()->setCurrentIndex(2);
  emit view_.figures()->activated(2);
  ASSERT_EQ(wanted.count(), 2);
  const auto choice = wanted[1][0].value<FleetChoice>();
  EXPECT_EQ(choice.job, QStringLiteral("4711"));
  EXPECT_EQ(choice.attempt, 0);
  EXPECT_EQ(choice.figure, QStringLiteral("duration"));
  view_.ShowProblem(QStringLiteral("a rank's <i>log</i>"));
  EXPECT_EQ(view_.Note(), QStringLiteral("a rank's &lt;i&gt;log&lt;/i&gt;"));
  EXPECT_EQ(view_.jobs()->currentIndex(), 0);
  EXPECT_EQ(view_.figures()->currentIndex(), 0);
  // Another figure of the same job: the same rank.
  view_.canvas()->Choose(3);
  Show(GridOf(FourSteps(), 4, "peak"));
  EXPECT_EQ(view_.canvas()->chosen(), 3u);
}

TEST_F(FleetViewTest, OutliersAreOneKeyAway) {
  std::vector<FileRank> ranks;
  for (int rank = 0; rank < 300; ++rank)
    ranks.push_back({rank, 0, rank < 15 ? -4.0 : 0, -1, {}, std::vector<double>(7, kMiBytes)});
  Show(GridOf(ranks, 7));
  EXPECT_TRUE(view_.Summary().contains(QStringLiteral("15 are apart")))
      << view_.Summary().toStdString();
  view_.order()->setCurrentIndex(1);
  emit view_.findChild<QLabel*>(QStringLiteral("summary"))->linkActivated({});
  EXPECT_EQ(view_.order()->currentIndex(), 0);
  EXPECT_EQ(view_.canvas()->view(), (HeatView{0, 30, 0, 7}));
  for (FileRank& rank : ranks) rank.distance = 0;
  Show(GridOf(ranks, 7));
  EXPECT_TRUE(view_.Summary().contains(QStringLiteral("None is apart")));
  view_.ZoomToOutliers();
  EXPECT_EQ(view_.canvas()->view(), (HeatView{0, 20, 0, 7}));
}

TEST_F(FleetViewTest, AJobWithoutStepsSaysSo) {
  std::vector<FileRank> ranks = FourSteps();
  for (FileRank& rank : ranks) rank.values.clear();
  Show(GridOf(ranks, 0));
  EXPECT_GT(testing::TextPixels(Grab(view_.canvas())), 100);
  testing::Wheel(view_.canvas(), {200, 200}, {0, 120});
  QTest::keyClick(view_.canvas(), Qt::Key_Down);
  QTest::mouseClick(view_.canvas(), Qt::LeftButton, {}, {300, 300});
  QTest::keyClick(view_.canvas(), Qt::Key_Plus);
  EXPECT_EQ(view_.model().rowCount(), 5);
}

TEST_F(FleetViewTest, TheTableCanBeExported) {
  Show(GridOf(FourSteps(), 4));
  QString text;
  QTextStream out(&text);
  EXPECT_TRUE(view_.WriteCsv(&out));
  out.flush();
  EXPECT_TRUE(text.startsWith(
      QStringLiteral("Rank,Stage,Distance,Highest,Host\n2,0,16.600,136314880,node0\n")))
      << text.toStdString();
  EXPECT_TRUE(text.endsWith(QStringLiteral("5,,0.000,83886080,node1\n"))) << text.toStdString();
}

}  // namespace
}  // namespace memprof::viewer
