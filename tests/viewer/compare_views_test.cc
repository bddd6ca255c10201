// Comparisons in a window: other allocators, the peak without a part, two logs and two moments.
#include <gtest/gtest.h>

#include <QApplication>
#include <QClipboard>
#include <QDragEnterEvent>
#include <QLabel>
#include <QLineEdit>
#include <QMimeData>
#include <QPushButton>
#include <QSignalSpy>
#include <QTreeView>
#include <QUrl>

#include "tests/viewer/window_fixture.h"
#include "viewer/views/delta_delegate.h"
#include "viewer/views/diff_steps.h"
#include "viewer/views/diff_view.h"
#include "viewer/views/what_if_curves.h"
#include "viewer/views/what_if_gone.h"
#include "viewer/views/what_if_replay.h"
#include "viewer/views/what_if_view.h"

namespace memprof::viewer {
namespace {

using testing::Colors;
using testing::Count;
using testing::Grab;
using testing::TipAt;

class CompareTest : public testing::WindowFixture {
 protected:
  WhatIfView* what_if() { return static_cast<WhatIfView*>(window_.page(ViewKind::kWhatIf)); }
  WhatIfReplay* replay() { return what_if()->replay(); }
  WhatIfGone* gone() { return what_if()->gone(); }
  DiffView* diff() { return static_cast<DiffView*>(window_.page(ViewKind::kDiff)); }

  // Another log of the demo.
  QString Other(const testing::DemoOptions& options) {
    analysis::testing::LogBuilder log;
    testing::FillDemoLog(log, options);
    const QString path = directory_.filePath(QStringLiteral("other.mprof"));
    EXPECT_TRUE(log.WriteTo(path.toStdString()).ok());
    return path;
  }
  static int RowOf(const WhatIfModel& model, const QString& name) {
    for (int row = 0; row < model.rowCount(); ++row)
      if (model.row(row).name == name) return row;
    return -1;
  }
  static QString Csv(const View& view) {
    QString text;
    QTextStream out(&text);
    return view.WriteCsv(&out) ? text : QString();
  }
};

TEST_F(CompareTest, AllocatorsAreComparedWithWhatWasRecorded) {
  Open({.steps = 8}, ViewKind::kWhatIf);
  const WhatIfModel& model = replay()->model();
  ASSERT_EQ(model.rowCount(), static_cast<int>(analysis::UsualAllocators().size()) + 4);
  EXPECT_EQ(model.row(0).kind, WhatIfRow::Kind::kRecorded);
  EXPECT_EQ(model.row(model.rowCount() - 1).kind, WhatIfRow::Kind::kBound);
  for (int row = 0; row < model.rowCount(); ++row) EXPECT_TRUE(model.row(row).done);
  EXPECT_TRUE(replay()->Verdict().contains(QStringLiteral("Replayed as")));
  EXPECT_FALSE(replay()->cancel_button()->isVisible());
  // What was recorded, and two others, are drawn.
  EXPECT_EQ(replay()->curves()->curves().size(), 3u);
  const QImage table = Grab(replay()->table()->viewport());
  EXPECT_GT(Count(table, table.rect(), theme().Categorical(0)), 100) << "the bar of a ticked row";
  const QImage curves = Grab(replay()->curves());
  EXPECT_GT(Count(curves, curves.rect(), theme().Categorical(0)) +
                Count(curves, curves.rect(), theme().Categorical(1)),
            20);
}

TEST_F(CompareTest, AUsersOwnConfigurationJoinsTheTable) {
  Open({.steps = 4}, ViewKind::kWhatIf);
  EXPECT_EQ(RowOf(replay()->model(), QStringLiteral("caching:max_split=8MiB")), -1);
  EXPECT_EQ(replay()->AddConfiguration(QStringLiteral(" caching:max_split=8MiB ")), QString());
  window_.WaitUntilSettled();
  const int row = RowOf(replay()->model(), QStringLiteral("caching:max_split=8MiB"));
  ASSERT_GE(row, 0);
  EXPECT_TRUE(replay()->model().row(row).own);
  EXPECT_TRUE(replay()->model().Drawn(row)) << "asked for, hence drawn";
  const QString wrong = replay()->AddConfiguration(QStringLiteral("cacheing"));
  EXPECT_TRUE(wrong.contains(QStringLiteral("cacheing"))) << wrong.toStdString();
  EXPECT_FALSE(wrong.contains(QLatin1Char('\n')));
  window_.WaitUntilSettled();
  EXPECT_EQ(RowOf(replay()->model(), QStringLiteral("cacheing")), -1);
}

TEST_F(CompareTest, WrongWordsAreToldBelowTheField) {
  Open({.steps = 3}, ViewKind::kWhatIf);
  QLineEdit* field = nullptr;
  for (QLineEdit* edit : replay()->findChildren<QLineEdit*>())
    if (edit->accessibleName() == QStringLiteral("Configuration to add")) field = edit;
  ASSERT_NE(field, nullptr);
  EXPECT_TRUE(what_if()->FocusSearch());
  QTest::keyClicks(field, QStringLiteral("bfc:nonsense=1"));
  QTest::keyClick(field, Qt::Key_Return);
  QString shown;
  for (QLabel* label : replay()->findChildren<QLabel*>())
    if (label->isVisible() && label->text().contains(QStringLiteral("nonsense")))
      shown = label->text();
  EXPECT_FALSE(shown.isEmpty());
  field->clear();
  QTest::keyClicks(field, QStringLiteral("rmm_binning"));
  QTest::keyClick(field, Qt::Key_Return);
  window_.WaitUntilSettled();
  EXPECT_GE(RowOf(replay()->model(), QStringLiteral("rmm_binning")), 0);
  EXPECT_TRUE(field->text().isEmpty());
}

TEST_F(CompareTest, ASmallerCapacityDoesNotFit) {
  Open({.steps = 4}, ViewKind::kWhatIf);
  EXPECT_FALSE(replay()->SetCapacity(QStringLiteral("much")).isEmpty());
  EXPECT_FALSE(replay()->SetCapacity(QStringLiteral("0")).isEmpty());
  EXPECT_EQ(replay()->SetCapacity(QStringLiteral("100MiB")), QString());
  window_.WaitUntilSettled();
  const WhatIfModel& model = replay()->model();
  EXPECT_EQ(model.device().capacity, 100u << 20);
  int no = 0;
  for (int row = 0; row < model.rowCount(); ++row)
    no += model.row(row).fits == WhatIfRow::Fits::kNo;
  EXPECT_GT(no, 5);
  EXPECT_TRUE(model.scale().capacity_shown);
  const QImage table = Grab(replay()->table()->viewport());
  EXPECT_GT(Count(table, table.rect(), theme().danger), 50) << "the capacity's line";
  EXPECT_EQ(replay()->SetCapacity({}), QString());
  window_.WaitUntilSettled();
  EXPECT_NE(model.device().capacity, 100u << 20);
}

TEST_F(CompareTest, CurvesShareInstantAndWindow) {
  Open({.steps = 8}, ViewKind::kWhatIf);
  WhatIfCurves* curves = replay()->curves();
  const QRectF plot = curves->PlotRect();
  QTest::mouseClick(curves, Qt::LeftButton, {}, plot.center().toPoint());
  const analysis::TimeWindow bounds = window_.selection().bounds();
  const double middle = static_cast<double>(bounds.begin + bounds.end) / 2;
  EXPECT_NEAR(static_cast<double>(window_.selection().instant()), middle,
              static_cast<double>(bounds.end - bounds.begin) / 100);
  // Beside the mouse: what each of them held then.
  const QStringList readout = curves->Readout(window_.selection().instant(), plot.center());
  ASSERT_EQ(readout.size(), curves->curves().size());
  for (std::size_t i = 0; i < curves->curves().size(); ++i) {
    const QStringList parts = readout[static_cast<qsizetype>(i)].split(QLatin1Char('\t'));
    ASSERT_EQ(parts.size(), 2);
    EXPECT_EQ(parts[0], curves->curves()[i].name);
    EXPECT_TRUE(parts[1].endsWith(QStringLiteral("iB"))) << parts[1].toStdString();
  }
  EXPECT_FALSE(readout.filter(QStringLiteral("as recorded")).isEmpty());
  const QImage pointed_at = Grab(curves);
  QEvent leave(QEvent::Leave);
  QCoreApplication::sendEvent(curves, &leave);
  EXPECT_NE(Grab(curves), pointed_at);
  QTest::mousePress(curves, Qt::LeftButton, {}, QPoint(static_cast<int>(plot.left()) + 50, 40));
  QTest::mouseRelease(curves, Qt::LeftButton, {}, QPoint(static_cast<int>(plot.left()) + 150, 40));
  EXPECT_TRUE(window_.selection().zoomed());
  const analysis::TimeWindow zoomed = window_.selection().window();
  curves->setFocus();
  QTest::keyClick(curves, Qt::Key_Right);
  EXPECT_GT(window_.selection().window().begin, zoomed.begin);
  QTest::keyClick(curves, Qt::Key_Up);
  QTest::keyClick(curves, Qt::Key_Down);
  QTest::keyClick(curves, Qt::Key_Left);
  testing::Wheel(curves, plot.center(), QPoint(0, 120));
  EXPECT_LT(window_.selection().window().end - window_.selection().window().begin,
            zoomed.end - zoomed.begin);
  window_.selection().Back();
}

TEST_F(CompareTest, ACancelledReplayCanBeBegunAgain) {
  ASSERT_TRUE(directory_.isValid());
  Open({.steps = 3}, ViewKind::kWhatIf);
  ASSERT_EQ(replay()->SetCapacity(QStringLiteral("4GiB")), QString());
  ASSERT_TRUE(replay()->running());
  EXPECT_TRUE(replay()->cancel_button()->isVisible());
  QTest::mouseClick(replay()->cancel_button(), Qt::LeftButton);
  EXPECT_FALSE(replay()->running());
  EXPECT_TRUE(replay()->Verdict().contains(QStringLiteral("Cancelled")));
  window_.WaitUntilSettled();
  EXPECT_EQ(replay()->model().rowCount(), 0);
  QTest::mouseClick(replay()->cancel_button(), Qt::LeftButton);
  EXPECT_TRUE(replay()->running());
  window_.WaitUntilSettled();
  EXPECT_GT(replay()->model().rowCount(), 10);
  EXPECT_FALSE(replay()->cancel_button()->isVisible());
}

TEST_F(CompareTest, ALogWithoutDeviceMemoryHasNothingToReplay) {
  analysis::testing::LogBuilder log;
  log.Device(0, 1 << 30);
  log.Step(0);
  OpenLog(log, ViewKind::kWhatIf);
  EXPECT_TRUE(replay()->Verdict().contains(QStringLiteral("nothing to replay")));
  EXPECT_FALSE(replay()->table()->isVisible());
  what_if()->ShowGone();
  window_.WaitUntilSettled();
  EXPECT_FALSE(gone()->Verdict().isEmpty());
  EXPECT_NE(gone()->Verdict(), QString::fromUtf8("…"));
}

TEST_F(CompareTest, AllocatorsAsRows) {
  Open({.steps = 3}, ViewKind::kWhatIf);
  const QStringList lines = Csv(*what_if()).split(QLatin1Char('\n'), Qt::SkipEmptyParts);
  ASSERT_EQ(lines.size(), replay()->model().rowCount() + 1);
  EXPECT_TRUE(lines[0].startsWith(QStringLiteral("device,process,allocator,")));
  EXPECT_TRUE(lines[1].startsWith(
      QStringLiteral("0,0,as recorded,%1,").arg(replay()->model().row(0).reserved)));
  // The row in front is what Ctrl+C copies.
  QTreeView* table = replay()->table();
  table->setCurrentIndex(table->model()->index(0, 0));
  for (QAction* action : table->actions())
    if (action->shortcut() == QKeySequence(QKeySequence::Copy)) action->trigger();
  EXPECT_TRUE(QApplication::clipboard()->text().startsWith(QStringLiteral("as recorded\t")));
}

TEST_F(CompareTest, ThePeakWithoutASite) {
  Open({.steps = 10}, ViewKind::kWhatIf);
  what_if()->ShowGone();
  window_.WaitUntilSettled();
  const WithoutModel& model = gone()->model();
  ASSERT_GT(model.rowCount(), 3);
  EXPECT_TRUE(gone()->Verdict().contains(QStringLiteral("The peak of the framework's blocks")));
  // Choosing a row selects its site, and leaves the row where it is.
  QTreeView* table = gone()->table();
  const analysis::StackId second = model.row(1).stack;
  table->setCurrentIndex(table->model()->index(1, 0));
  EXPECT_EQ(window_.selection().site(), second);
  EXPECT_FALSE(model.first_is_selected());
  // A site that is selected elsewhere comes first.
  const analysis::StackId third = model.row(2).stack;
  const QString name = model.index(2, 0).data().toString();
  window_.selection().SelectSite(third);
  EXPECT_TRUE(model.first_is_selected());
  EXPECT_EQ(model.index(0, 0).data().toString(), name);
  EXPECT_EQ(table->currentIndex().row(), 0);
  const QStringList lines = Csv(*what_if()).split(QLatin1Char('\n'), Qt::SkipEmptyParts);
  EXPECT_EQ(lines.size(), model.rowCount() + 1);
  for (const analysis::WithoutBy by : {analysis::WithoutBy::kCategory, analysis::WithoutBy::kLayer,
                                       analysis::WithoutBy::kTensor}) {
    gone()->SetBy(by);
    window_.WaitUntilSettled();
    ASSERT_NE(model.ranking(), nullptr);
    EXPECT_EQ(model.ranking()->by, by);
    EXPECT_GT(model.rowCount(), 0);
  }
}

TEST_F(CompareTest, WithoutAllThatTheFilterShows) {
  Open({.steps = 10}, ViewKind::kWhatIf);
  what_if()->ShowGone();
  analysis::AllocationFilter filter;
  filter.text = "LossHistory";
  window_.selection().SetFilter(filter);
  window_.WaitUntilSettled();
  EXPECT_EQ(gone()->model().rowCount(), 1);
  EXPECT_TRUE(gone()->Verdict().contains(QStringLiteral("Without all that the filter shows")));
  window_.selection().Back();
  window_.WaitUntilSettled();
  EXPECT_GT(gone()->model().rowCount(), 1);
}

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
  EXPECT_TRUE(diff()->table()->isColumnHidden(DiffModel::kStep)) << "the same at both";
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

// At the peak of a step, with the peak of an early one: what each step holds there is no change.
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
  // From the begin of a step all that a step holds at its peak appears as new.
  window_.selection().SetInstant(steps[2].begin);
  diff()->PinHere();
  window_.selection().SetInstant(peak);
  EXPECT_GT(sites(), 1);
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

TEST_F(CompareTest, TheOtherLogMayBeToldFirst) {
  ASSERT_TRUE(directory_.isValid());
  diff()->CompareWith(Other({.steps = 5, .leak = false}));
  Open({.steps = 9}, ViewKind::kDiff);
  ASSERT_NE(diff()->model().shown(), nullptr);
  EXPECT_FALSE(diff()->model().shown()->question.moments);
  EXPECT_EQ(diff()->model().shown()->report.steps.size(), 5u);
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
      << "what is open stays open";
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
