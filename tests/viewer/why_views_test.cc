// Holes, failed requests and advice as they are shown in a window: what is drawn, and what clicks
// and keys do.
#include <gtest/gtest.h>

#include <QCheckBox>
#include <QComboBox>
#include <QPushButton>
#include <QTabWidget>
#include <QTextStream>
#include <QTreeView>

#include "tests/viewer/window_fixture.h"
#include "viewer/views/advice_view.h"
#include "viewer/views/byte_bars_widget.h"
#include "viewer/views/fact_view.h"
#include "viewer/views/fragmentation_page.h"
#include "viewer/views/fragmentation_plot.h"
#include "viewer/views/fragmentation_view.h"
#include "viewer/views/oom_page.h"
#include "viewer/views/rich_label.h"

namespace memprof::viewer {
namespace {

using analysis::Layer;
using analysis::Op;
using analysis::testing::LogBuilder;
using testing::Count;
using testing::Grab;

constexpr std::uint64_t kMiB = 1 << 20;

class WhyTest : public testing::WindowFixture {
 protected:
  FragmentationView* fragmentation() {
    return static_cast<FragmentationView*>(window_.page(ViewKind::kFragmentation));
  }
  AdviceView* advice() { return static_cast<AdviceView*>(window_.page(ViewKind::kAdvice)); }
  Selection& selection() { return window_.selection(); }
  static QString Csv(const View* view) {
    QString text;
    QTextStream out(&text);
    return view->WriteCsv(&out) ? text : QString();
  }
  // Two failures: one that then succeeded, one for good.
  static void FillOomLog(LogBuilder& log) {
    testing::FillDemoLog(log, {.steps = 6, .capacity = 600 * kMiB});
    const int site = log.Stack({"main (train.cc:210)", "Big (big.cc:5)"});
    const auto fail = [&](std::uint64_t bytes) {
      log.AllocFailed(
          Layer::kLinear, bytes,
          {.stack = site, .aux0 = 2 * kMiB, .aux1 = 600 * kMiB, .result = 2, .api = "cuMemAlloc"});
      log.AdvanceTime(1'000'000);
    };
    fail(32 * kMiB);
    log.Alloc(Layer::kLinear, 0x7e0000000000, 32 * kMiB, {.stack = site});
    log.AdvanceTime(1'000'000);
    fail(64 * kMiB);
    log.Event(Op::kFrameworkOom, Layer::kBlock, 0, 60 * kMiB, 0, {.stack = site});
    log.AdvanceTime(1'000'000);
  }
};

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
  EXPECT_TRUE(Csv(fragmentation()).startsWith(QStringLiteral("joins_bytes,block_bytes,born")));
  // And the other way: what is selected elsewhere is pointed out.
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

TEST_F(WhyTest, ALogWithoutAnAllocatorSaysSo) {
  Open({.steps = 4, .framework = false}, ViewKind::kFragmentation);
  const QImage image = Grab(fragmentation()->holes()->plot());
  EXPECT_GT(testing::Colors(image), 2);  // words
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

TEST_F(WhyTest, FailedRequestsComeFirstAndAreExplained) {
  LogBuilder log;
  FillOomLog(log);
  OpenLog(log, ViewKind::kFragmentation);
  EXPECT_EQ(fragmentation()->tabs()->currentIndex(), 1);
  EXPECT_EQ(fragmentation()->tabs()->tabText(1), QStringLiteral("Failed requests (2)"));
  OomPage* page = fragmentation()->oom();
  EXPECT_TRUE(page->failures()->isVisible());
  EXPECT_EQ(page->failures()->currentIndex().row(), 1);  // the one for good
  EXPECT_TRUE(page->VerdictText().contains(QStringLiteral("60.0 MiB on device 0")));
  EXPECT_GT(page->remedies()->table()->rowCount(), 2);
  // The bar: the largest site in its colour, to scale.
  const QImage bar = Grab(page->space());
  const QRectF first = page->space()->RectOf(0, 0);
  EXPECT_GT(Count(bar, first.toRect(), theme().Categorical(0)), 50);
  std::uint64_t sum = page->space()->bars()[0].bytes();
  EXPECT_EQ(sum, 600 * kMiB);
  EXPECT_TRUE(Csv(fragmentation()).startsWith(QStringLiteral("fits,with,gives")));
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
  // The one that is explained can be seen.
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
  EXPECT_TRUE(page->VerdictText().contains(QStringLiteral("got the memory after all")));
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

TEST_F(WhyTest, AdviceShowsTheLeakWithItsPeakAndSelectsIt) {
  Open({}, ViewKind::kAdvice);
  ASSERT_GT(advice()->model().shown(), 0u);
  EXPECT_TRUE(advice()->SummaryText().contains(QStringLiteral("best first")));
  const QModelIndex first = advice()->model().First();
  const AdviceEntry* entry = advice()->model().entry(first);
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(entry->finding.pattern, analysis::Pattern::kLeak);
  EXPECT_TRUE(advice()->DetailText().contains(QStringLiteral("Change:")));
  // Nothing was selected by showing it; going to it does.
  EXPECT_FALSE(selection().site().valid());
  advice()->table()->setCurrentIndex(advice()->model().index(1, 0));
  advice()->table()->setCurrentIndex(first);
  EXPECT_EQ(selection().site(), entry->finding.stack);
  FactView* affected = advice()->affected();
  ASSERT_GT(affected->table()->rowCount(), 1);
  affected->setCurrentIndex(affected->table()->index(1, 0));
  EXPECT_EQ(selection().allocation(), affected->table()->row(1).allocation);
  QTest::keyClick(affected, Qt::Key_Return);
  EXPECT_EQ(selection().instant(), *affected->table()->row(1).time);
}

TEST_F(WhyTest, AdviceIsGroupedFilteredAndWrittenDown) {
  Open({}, ViewKind::kAdvice);
  const std::size_t large = advice()->model().shown();
  advice()->noise()->setChecked(true);
  const std::size_t all = advice()->model().shown();
  EXPECT_GT(all, large);
  const QString csv = Csv(advice());
  EXPECT_EQ(csv.count(QLatin1Char('\n')), static_cast<qsizetype>(all) + 1);
  EXPECT_TRUE(csv.startsWith(QStringLiteral("pattern,site,device,layer,off_peak_bytes")));
  advice()->grouping()->setCurrentIndex(2);
  EXPECT_EQ(advice()->model().shown(), all);
  analysis::AllocationFilter filter;
  filter.text = testing::kLeakFunction;
  selection().SetFilter(filter);
  window_.WaitUntilSettled();
  EXPECT_LT(advice()->model().shown(), all);
  EXPECT_GT(advice()->model().shown(), 0u);
  EXPECT_TRUE(advice()->SummaryText().contains(QStringLiteral("filter leaves out")));
  filter.text = "no such function";
  selection().SetFilter(filter);
  window_.WaitUntilSettled();
  EXPECT_EQ(advice()->model().shown(), 0u);
  EXPECT_TRUE(advice()->SummaryText().contains(QStringLiteral("Nothing to advise")));
  selection().Back();
  selection().Back();
  window_.WaitUntilSettled();
  EXPECT_EQ(advice()->model().shown(), all);
}

TEST_F(WhyTest, ResultsAreKeptWhileTheLogIsTheSame) {
  Open({}, ViewKind::kAdvice);
  const AdviceEntry* entry = advice()->model().entry(advice()->model().First());
  window_.ShowView(ViewKind::kTimeline);
  selection().SetInstant(selection().bounds().begin + 1000);
  window_.ShowView(ViewKind::kAdvice);
  EXPECT_EQ(advice()->model().entry(advice()->model().First()), entry);
  window_.WaitUntilSettled();
  EXPECT_EQ(advice()->model().entry(advice()->model().First()), entry);
  // Another log is another answer.
  Open({.steps = 12, .leak = false}, ViewKind::kAdvice);
  for (int i = 0; i < advice()->model().rowCount(); ++i) {
    const QModelIndex group = advice()->model().index(i, 0);
    for (int j = 0; j < advice()->model().rowCount(group); ++j)
      EXPECT_NE(advice()->model().entry(advice()->model().index(j, 0, group))->finding.pattern,
                analysis::Pattern::kLeak);
  }
}

}  // namespace
}  // namespace memprof::viewer
