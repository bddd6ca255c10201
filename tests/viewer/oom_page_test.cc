// Failed requests in a window.
#include "viewer/views/oom_page.h"

#include <gtest/gtest.h>

#include <QPushButton>
#include <QTabWidget>

#include "analysis/base/sizes.h"
#include "tests/viewer/table_fixture.h"
#include "tests/viewer/why_fixture.h"
#include "viewer/views/byte_bars_widget.h"
#include "viewer/views/fact_view.h"
#include "viewer/views/rich_label.h"

namespace memprof::viewer {
namespace {

using analysis::kMiB;
using analysis::testing::LogBuilder;
using testing::Count;
using testing::Csv;
using testing::Grab;
using testing::WhyTest;

TEST_F(WhyTest, FailedRequestsComeFirstAndAreExplained) {
  LogBuilder log;
  FillOomLog(log);
  OpenLog(log, ViewKind::kFragmentation);
  EXPECT_EQ(fragmentation()->tabs()->currentIndex(), 1);
  EXPECT_EQ(fragmentation()->tabs()->tabText(1), QStringLiteral("Failed requests (2)"));
  OomPage* page = fragmentation()->oom();
  EXPECT_TRUE(page->failures()->isVisible());
  EXPECT_EQ(page->failures()->currentIndex().row(), 1);  // the failure that was final
  EXPECT_TRUE(page->VerdictText().contains(QStringLiteral("60.0 MiB on device 0")));
  EXPECT_GT(page->remedies()->table()->rowCount(), 2);
  // The bar shows the largest site in its colour, to scale.
  const QImage bar = Grab(page->space());
  const QRectF first = page->space()->RectOf(0, 0);
  EXPECT_GT(Count(bar, first.toRect(), theme().Categorical(0)), 50);
  std::uint64_t sum = page->space()->bars()[0].bytes();
  EXPECT_EQ(sum, 600 * kMiB);
  EXPECT_TRUE(Csv(*fragmentation()).startsWith(QStringLiteral("fits,with,gives")));
}

TEST_F(WhyTest, NoSentenceEndsInItsMiddle) {
  LogBuilder log;
  FillOomLog(log);
  OpenLog(log, ViewKind::kFragmentation);
  for (const int width : {1280, 800}) {
    window_.resize(width, 720);
    window_.WaitUntilSettled();
    for (const RichLabel* label : fragmentation()->oom()->findChildren<RichLabel*>()) {
      if (!label->isVisible()) continue;
      EXPECT_GE(label->height(), label->heightForWidth(label->width()))
          << width << ": " << label->PlainText().toStdString();
    }
  }
}

TEST_F(WhyTest, ManyFailuresLeaveRoomForTheRestOfTheirPage) {
  LogBuilder log;
  for (int i = 0; i < 30; ++i) FillOomLog(log);
  window_.resize(1280, 720);
  OpenLog(log, ViewKind::kFragmentation);
  OomPage* page = fragmentation()->oom();
  ASSERT_GT(page->count(), 30);
  const auto top = [page](const QWidget* part) { return part->mapTo(page, QPoint(0, 0)).y(); };
  EXPECT_LE(top(page->failures()) + page->failures()->height(), top(page->go()));
  EXPECT_LE(top(page->space()) + page->space()->height(), top(page->scale()));
  EXPECT_LE(top(page->scale()) + page->scale()->height(), top(page->tabs()));
  // The explained failure is visible.
  const QModelIndex chosen = page->failures()->currentIndex();
  ASSERT_TRUE(chosen.isValid());
  EXPECT_TRUE(page->failures()->viewport()->rect().contains(page->failures()->visualRect(chosen)));
}

TEST_F(WhyTest, AChosenFailureMovesTheInstantAndAPartOfTheBarSelectsItsSite) {
  LogBuilder log;
  FillOomLog(log);
  OpenLog(log, ViewKind::kFragmentation);
  OomPage* page = fragmentation()->oom();
  page->failures()->setCurrentIndex(page->failures()->table()->index(0, 0));
  window_.WaitUntilSettled();
  EXPECT_EQ(selection().instant(), *page->failures()->table()->row(0).time);
  EXPECT_TRUE(page->VerdictText().contains(QStringLiteral("32.0 MiB")));
  EXPECT_TRUE(
      page->VerdictText().contains(QStringLiteral("a later attempt of the same thread succeeded")));
  const QPoint middle = page->space()->RectOf(0, 0).center().toPoint();
  QTest::mouseClick(page->space(), Qt::LeftButton, {}, middle);
  EXPECT_EQ(selection().site(), page->space()->bars()[0].parts[0].site);
  EXPECT_TRUE(testing::TipAt(page->space(), middle).contains(QStringLiteral("MiB in")));
  QTest::keyClick(page->space(), Qt::Key_Right);
  QTest::keyClick(page->space(), Qt::Key_Return);
  EXPECT_EQ(selection().site(), page->space()->bars()[0].parts[1].site);
  selection().SetInstant(0);
  QTest::mouseClick(page->go(), Qt::LeftButton);
  EXPECT_EQ(selection().instant(), *page->failures()->table()->row(0).time);
}

TEST_F(WhyTest, WithoutAFailureTheHeadroomIsDrawn) {
  Open({.steps = 6}, ViewKind::kFragmentation);
  EXPECT_EQ(fragmentation()->tabs()->tabText(1), QStringLiteral("Headroom"));
  fragmentation()->tabs()->setCurrentIndex(1);
  OomPage* page = fragmentation()->oom();
  EXPECT_TRUE(page->VerdictText().contains(QStringLiteral("No request for memory failed")));
  ASSERT_EQ(page->scale()->bars().size(), 1u);
  selection().SetInstant(0);
  QTest::mouseClick(page->scale(), Qt::LeftButton, {},
                    page->scale()->RectOf(0, 0).center().toPoint());
  EXPECT_GT(selection().instant(), selection().bounds().begin);
  EXPECT_FALSE(page->tabs()->isVisible());
}

}  // namespace
}  // namespace memprof::viewer
