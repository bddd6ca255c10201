// Other allocators, and the peak without a part, in a window.
#include "viewer/views/what_if_view.h"

#include <gtest/gtest.h>

#include <QApplication>
#include <QClipboard>
#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QTreeView>

#include "tests/viewer/compare_fixture.h"
#include "tests/viewer/table_fixture.h"
#include "viewer/views/diff_steps.h"
#include "viewer/views/diff_view.h"
#include "viewer/views/what_if_curves.h"
#include "viewer/views/what_if_gone.h"
#include "viewer/views/what_if_replay.h"

namespace memprof::viewer {
namespace {

using testing::CompareTest;
using testing::Count;
using testing::Csv;
using testing::Grab;

TEST_F(CompareTest, AllocatorsAreComparedWithWhatWasRecorded) {
  Open({.steps = 8}, ViewKind::kWhatIf);
  const WhatIfModel& model = replay()->model();
  ASSERT_EQ(model.rowCount(), static_cast<int>(analysis::UsualAllocators().size()) + 4);
  EXPECT_EQ(model.row(0).kind, WhatIfRow::Kind::kRecorded);
  EXPECT_EQ(model.row(model.rowCount() - 1).kind, WhatIfRow::Kind::kBound);
  for (int row = 0; row < model.rowCount(); ++row) EXPECT_TRUE(model.row(row).done);
  EXPECT_TRUE(replay()->Verdict().contains(QStringLiteral("Replayed as")));
  EXPECT_FALSE(replay()->cancel_button()->isVisible());
  // The recorded curve and two others are drawn.
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
  EXPECT_TRUE(replay()->model().Drawn(row)) << "drawn because it was requested";
  const QString wrong = replay()->AddConfiguration(QStringLiteral("cacheing"));
  EXPECT_TRUE(wrong.contains(QStringLiteral("cacheing"))) << wrong.toStdString();
  EXPECT_FALSE(wrong.contains(QLatin1Char('\n')));
  window_.WaitUntilSettled();
  EXPECT_EQ(RowOf(replay()->model(), QStringLiteral("cacheing")), -1);
}

TEST_F(CompareTest, WrongWordsAreReportedBelowTheField) {
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
  // The tooltip shows the memory of each at that time.
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

TEST_F(CompareTest, AnotherDeviceHasItsOwnCurves) {
  analysis::testing::LogBuilder log;
  for (int device = 0; device < 2; ++device) log.Device(device, 1 << 30);
  for (int device = 0; device < 2; ++device)
    log.Alloc(analysis::Layer::kLinear, 0x10000000ull << device,
              static_cast<std::uint64_t>(device + 1) * (20 << 20), {.device = device});
  log.AdvanceTime(1'000'000);
  log.Step(0);
  OpenLog(log, ViewKind::kWhatIf);
  const auto recorded = [this] {
    std::uint64_t most = 0;
    for (const WhatIfCurve& curve : replay()->curves()->curves())
      if (curve.name == replay()->model().row(0).name)
        for (const analysis::CurvePoint& point : curve.points) most = std::max(most, point.bytes);
    return most;
  };
  QComboBox* choice = nullptr;
  for (QComboBox* box : replay()->findChildren<QComboBox*>())
    if (box->accessibleName() == QStringLiteral("Device")) choice = box;
  ASSERT_NE(choice, nullptr);
  ASSERT_EQ(choice->count(), 2);
  for (const auto& [key, most] : {std::pair(Qt::Key_End, 40u << 20), {Qt::Key_Home, 20u << 20}}) {
    QTest::keyClick(choice, key);
    EXPECT_EQ(recorded(), most);
  }
}

TEST_F(CompareTest, AllocatorsAsRows) {
  Open({.steps = 3}, ViewKind::kWhatIf);
  const QStringList lines = Csv(*what_if()).split(QLatin1Char('\n'), Qt::SkipEmptyParts);
  ASSERT_EQ(lines.size(), replay()->model().rowCount() + 1);
  EXPECT_TRUE(lines[0].startsWith(QStringLiteral("device,process,allocator,")));
  EXPECT_TRUE(lines[1].startsWith(
      QStringLiteral("0,0,as recorded,%1,").arg(replay()->model().row(0).reserved)));
  // Ctrl+C copies the current row.
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
  // Choosing a row selects its site, and does not move the row.
  QTreeView* table = gone()->table();
  const analysis::StackId second = model.row(1).stack;
  table->setCurrentIndex(table->model()->index(1, 0));
  EXPECT_EQ(window_.selection().site(), second);
  EXPECT_FALSE(model.first_is_selected());
  // A site that another view selects becomes the first row.
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

}  // namespace
}  // namespace memprof::viewer
