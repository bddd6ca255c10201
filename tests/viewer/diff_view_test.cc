// Comparisons of two logs and of two moments in a window.
#include "viewer/views/diff_view.h"

#include <gtest/gtest.h>

#include <QDragEnterEvent>
#include <QMimeData>
#include <QPushButton>
#include <QTreeView>
#include <QUrl>

#include "tests/viewer/compare_fixture.h"
#include "tests/viewer/table_fixture.h"
#include "viewer/views/delta_delegate.h"
#include "viewer/views/diff_steps.h"
#include "viewer/views/what_if_curves.h"
#include "viewer/views/what_if_gone.h"
#include "viewer/views/what_if_replay.h"
#include "viewer/views/what_if_view.h"

namespace memprof::viewer {
namespace {

using testing::CompareTest;
using testing::Count;
using testing::Csv;
using testing::Grab;
using testing::TipAt;

TEST_F(CompareTest, TwoLogs) {
  Open({.steps = 12}, ViewKind::kDiff);
  diff()->CompareWith(Other({.steps = 9, .leak = false}));
  window_.WaitUntilSettled();
  const DiffModel& model = diff()->model();
  ASSERT_NE(model.shown(), nullptr) << diff()->Verdict().toStdString();
  EXPECT_TRUE(diff()->Verdict().contains(QStringLiteral("Before: other.mprof, 9 steps")));
  EXPECT_EQ(diff()->figure_model().rowCount(), static_cast<int>(model.shown()->figures.size()));
  EXPECT_TRUE(diff()->steps()->isVisible());
  EXPECT_FALSE(diff()->table()->isColumnHidden(DiffModel::kStep));
  EXPECT_GT(diff()->stack().rowCount(), 0) << "of the first row";
  const QImage table = Grab(diff()->table()->viewport());
  EXPECT_GT(Count(table, table.rect(), DeltaDelegate::More(theme())), 50);
  const QImage steps = Grab(diff()->steps());
  EXPECT_GT(Count(steps, steps.rect(), DeltaDelegate::More(theme())), 20);
  EXPECT_GT(Count(steps, steps.rect(), DeltaDelegate::Less(theme())), 5);
  int leak = -1;
  for (int row = 0; row < model.rowCount(); ++row)
    if (model.row(row).name.startsWith(QLatin1String(testing::kLeakFunction))) leak = row;
  ASSERT_GE(leak, 0);
  EXPECT_TRUE(model.row(leak).fresh);
  const std::int64_t change = model.row(leak).change();
  diff()->Swap();
  window_.WaitUntilSettled();
  leak = -1;
  for (int row = 0; row < model.rowCount(); ++row)
    if (model.row(row).name.startsWith(QLatin1String(testing::kLeakFunction))) leak = row;
  ASSERT_GE(leak, 0);
  EXPECT_TRUE(model.row(leak).gone);
  EXPECT_EQ(model.row(leak).change(), -change);
  for (const DiffBy by : {DiffBy::kCategory, DiffBy::kLayer}) {
    diff()->SetBy(by);
    window_.WaitUntilSettled();
    EXPECT_EQ(model.shown()->question.by, by);
    EXPECT_GT(model.rowCount(), 0);
  }
}

TEST_F(CompareTest, RowsAndSitesFollowEachOther) {
  Open({.steps = 12}, ViewKind::kDiff);
  diff()->CompareWith(Other({.steps = 6, .framework = false}));
  window_.WaitUntilSettled();
  const DiffModel& model = diff()->model();
  ASSERT_GT(model.rowCount(), 0);
  EXPECT_FALSE(window_.selection().site().valid()) << "showing selects nothing";
  QTreeView* table = diff()->table();
  table->setCurrentIndex({});
  table->setCurrentIndex(table->model()->index(0, 0));
  window_.WaitUntilSettled();
  EXPECT_EQ(window_.selection().site(), model.row(0).after_stack);
  ASSERT_GT(model.rowCount(), 1);
  window_.selection().SelectSite(model.row(1).after_stack);
  EXPECT_EQ(table->currentIndex().row(), 1);
  const QStringList lines = Csv(*diff()).split(QLatin1Char('\n'), Qt::SkipEmptyParts);
  EXPECT_EQ(lines.size(), model.rowCount() + 1);
}

TEST_F(CompareTest, AStepOfTheChartIsChosen) {
  Open({.steps = 12}, ViewKind::kDiff);
  diff()->CompareWith(Other({.steps = 12}));
  window_.WaitUntilSettled();
  DiffSteps* steps = diff()->steps();
  ASSERT_TRUE(steps->isVisible());
  const QRectF plot = steps->PlotRect();
  QTest::mouseClick(steps, Qt::LeftButton, {}, QPoint(static_cast<int>(plot.right()) - 4, 60));
  EXPECT_EQ(window_.document().session()->StepAt(window_.selection().instant()), 11);
  steps->setFocus();
  QTest::keyClick(steps, Qt::Key_Left);
  EXPECT_EQ(window_.document().session()->StepAt(window_.selection().instant()), 10);
  EXPECT_TRUE(TipAt(steps, plot.center().toPoint()).startsWith(QStringLiteral("step ")));
  EXPECT_FALSE(steps->RowAt(plot.left() - 3).has_value());
  EXPECT_FALSE(steps->RowAt(plot.right() + 3).has_value());
}

TEST_F(CompareTest, TwoMomentsOfOneLog) {
  Open({.steps = 20}, ViewKind::kDiff);
  Selection& selection = window_.selection();
  const auto steps = window_.document().session()->steps();
  selection.SetInstant(steps[4].begin);
  diff()->PinHere();
  selection.SetInstant(steps[16].begin);
  window_.WaitUntilSettled();
  const DiffModel& model = diff()->model();
  ASSERT_EQ(model.rowCount(), 1);
  EXPECT_EQ(model.row(0).change(), 12 * static_cast<std::int64_t>(testing::kLeakBytes));
  EXPECT_FALSE(diff()->steps()->isVisible());
  EXPECT_TRUE(diff()->table()->isColumnHidden(DiffModel::kStep)) << "the same in both";
  const auto run = model.shown()->question.run;
  selection.SetInstant(steps[15].begin);
  window_.WaitUntilSettled();
  EXPECT_EQ(model.row(0).change(), 11 * static_cast<std::int64_t>(testing::kLeakBytes));
  EXPECT_EQ(model.shown()->question.run, run) << "the run was read once";
  selection.SetInstant(steps[16].begin);
  window_.WaitUntilSettled();
  diff()->Swap();
  window_.WaitUntilSettled();
  EXPECT_EQ(selection.instant(), steps[4].begin);
  ASSERT_EQ(model.rowCount(), 1);
  EXPECT_EQ(model.row(0).change(), -12 * static_cast<std::int64_t>(testing::kLeakBytes));
}

// A moment at the peak of a step is compared with the peak of an early step, so that memory of all
// steps is no change.
TEST_F(CompareTest, AMomentIsComparedWithTheSamePlaceOfAStep) {
  Open({.steps = 20}, ViewKind::kDiff);
  const auto steps = window_.document().session()->steps();
  const analysis::TimeNs peak = window_.selection().instant();
  ASSERT_NE(window_.document().session()->StepAt(peak), -1);
  const DiffModel& model = diff()->model();
  const auto sites = [&] {
    window_.WaitUntilSettled();
    return model.rowCount();
  };
  EXPECT_EQ(sites(), 1) << "the leak";
  const analysis::TimeNs from = model.shown()->question.from;
  EXPECT_GT(from, steps[2].begin);
  EXPECT_LT(from, steps[2].end);
  EXPECT_TRUE(diff()->Verdict().contains(QStringLiteral("Both at "))) << "says so";
  // Pinned at the begin of a step: the moment after is the begin of its step, too.
  window_.selection().SetInstant(steps[2].begin);
  diff()->PinHere();
  window_.selection().SetInstant(peak);
  EXPECT_EQ(sites(), 1);
  EXPECT_TRUE(diff()->Verdict().contains(
      QStringLiteral("Both at 0 % of their step. Show this instant in all views.")))
      << diff()->Verdict().toStdString();
  EXPECT_EQ(window_.selection().instant(), peak) << "the other views stay";
  // Else all memory at the peak of a step appears as new.
  diff()->SetAligned(false);
  EXPECT_GT(sites(), 1);
  EXPECT_EQ(model.shown()->question.to, peak);
  EXPECT_FALSE(diff()->Verdict().contains(QStringLiteral("Both at ")));
}

TEST_F(CompareTest, TheButtonsStayWhereTheyAreWhileLogsAreCompared) {
  Open({.steps = 6}, ViewKind::kDiff);
  const QPushButton* button = diff()->findChild<QPushButton*>();
  const auto top = [&] { return button->mapTo(diff(), QPoint(0, 0)).y(); };
  diff()->CompareWith(Other({.steps = 5}));
  ASSERT_TRUE(diff()->cancel_button()->isVisible()) << "it compares";
  const int meanwhile = top();
  EXPECT_LT(meanwhile, 100);
  window_.WaitUntilSettled();
  EXPECT_EQ(top(), meanwhile);
}

TEST_F(CompareTest, AMomentIsComparedFromTheBeginning) {
  Open({.steps = 20}, ViewKind::kDiff);
  window_.selection().SetInstant(window_.selection().bounds().end);
  window_.WaitUntilSettled();
  ASSERT_EQ(diff()->model().rowCount(), 1);
  EXPECT_TRUE(diff()->Verdict().contains(QStringLiteral("pin it")));
}

TEST_F(CompareTest, ABrokenOtherLogIsOneLine) {
  Open({.steps = 4}, ViewKind::kDiff);
  diff()->CompareWith(WriteFile(QStringLiteral("broken.mprof"), QByteArray("not a log at all")));
  window_.WaitUntilSettled();
  EXPECT_TRUE(diff()->Verdict().startsWith(QStringLiteral("Cannot compare with broken.mprof: ")));
  EXPECT_FALSE(diff()->Verdict().contains(QLatin1Char('\n')));
  EXPECT_EQ(diff()->model().rowCount(), 0);
  diff()->CompareWith(directory_.filePath(QStringLiteral("none.mprof")));
  window_.WaitUntilSettled();
  EXPECT_TRUE(diff()->Verdict().contains(QStringLiteral("none.mprof")));
  EXPECT_TRUE(diff()->cancel_button()->isVisible()) << "to try again";
  diff()->CompareMoments();
  window_.WaitUntilSettled();
  EXPECT_NE(diff()->model().shown(), nullptr);
  EXPECT_FALSE(diff()->cancel_button()->isVisible());
}

TEST_F(CompareTest, TheOtherLogMayBeNamedFirst) {
  ASSERT_TRUE(directory_.isValid());
  diff()->CompareWith(Other({.steps = 5, .leak = false}));
  Open({.steps = 9}, ViewKind::kDiff);
  ASSERT_NE(diff()->model().shown(), nullptr);
  EXPECT_FALSE(diff()->model().shown()->question.moments);
  EXPECT_EQ(diff()->model().shown()->report.steps.size(), 5u);
}

TEST_F(CompareTest, AnotherLogIsNamedWhileTheRunIsRead) {
  Open({.steps = 9});
  window_.ShowView(ViewKind::kDiff);
  diff()->CompareWith(Other({.steps = 400}));
  window_.WaitUntilSettled();
  EXPECT_FALSE(diff()->model().shown()->question.moments);
}

TEST_F(CompareTest, ALogIsDroppedOntoTheView) {
  Open({.steps = 9}, ViewKind::kDiff);
  QMimeData data;
  data.setUrls({QUrl::fromLocalFile(Other({.steps = 5}))});
  QDragEnterEvent enter(QPoint(5, 5), Qt::CopyAction, &data, Qt::LeftButton, {});
  QCoreApplication::sendEvent(diff(), &enter);
  EXPECT_TRUE(enter.isAccepted());
  QDropEvent drop(QPointF(5, 5), Qt::CopyAction, &data, Qt::LeftButton, {});
  QCoreApplication::sendEvent(diff(), &drop);
  window_.WaitUntilSettled();
  EXPECT_TRUE(diff()->Verdict().contains(QStringLiteral("other.mprof")));
  EXPECT_EQ(window_.document().path(), directory_.filePath(QStringLiteral("demo.mprof")))
      << "the open log stays open";
}

TEST_F(CompareTest, ACancelledComparisonSaysSo) {
  Open({.steps = 6}, ViewKind::kDiff);
  diff()->CompareWith(Other({.steps = 5}));
  ASSERT_TRUE(diff()->running());
  QTest::mouseClick(diff()->cancel_button(), Qt::LeftButton);
  EXPECT_FALSE(diff()->running());
  EXPECT_EQ(diff()->Verdict(), QStringLiteral("Cancelled."));
  window_.WaitUntilSettled();
  EXPECT_EQ(diff()->model().rowCount(), 0);
  QTest::mouseClick(diff()->cancel_button(), Qt::LeftButton);
  window_.WaitUntilSettled();
  EXPECT_GT(diff()->model().rowCount(), 0);
}

}  // namespace
}  // namespace memprof::viewer
