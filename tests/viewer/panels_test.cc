// Panels around the views: details, and evidence for leaks.
#include <gtest/gtest.h>

#include <QClipboard>
#include <QGuiApplication>
#include <QTabWidget>
#include <QTreeView>

#include "analysis/base/sizes.h"
#include "tests/viewer/panel_fixture.h"
#include "viewer/geometry/units.h"
#include "viewer/views/details_panel.h"
#include "viewer/views/diff_view.h"
#include "viewer/views/leak_view.h"
#include "viewer/views/rich_label.h"
#include "viewer/views/stack_view.h"
#include "viewer/views/survivor_chart.h"

namespace memprof::viewer {
namespace {

using analysis::kMiB;
using testing::Count;
using testing::Grab;
using testing::PanelTest;

TEST_F(PanelTest, RankingsAddUpToWhatIsInUse) {
  Open({.steps = 20});
  // At the peak the last block has no tensor yet, so the end is used.
  window_.selection().SetInstant(window_.selection().bounds().end);
  window_.WaitUntilSettled();
  const std::uint64_t in_use =
      window_.document().bands(0)->in_use.At(window_.selection().instant());
  for (const RankedModel* model : {&details()->sites(), &details()->tensors()}) {
    std::uint64_t sum = 0, last = ~std::uint64_t{0};
    for (int row = 0; row < model->rowCount(); ++row) {
      EXPECT_LE(model->row(row).bytes, last) << "largest first";
      last = model->row(row).bytes;
      sum += last;
    }
    EXPECT_EQ(sum, in_use);
  }
  EXPECT_TRUE(Texts(details()).contains(FormatBytes(in_use)));
  const std::int64_t step = window_.document().session()->StepAt(window_.selection().instant());
  EXPECT_TRUE(Texts(details()).contains(QStringLiteral("step %1").arg(step)));
}

// The list has the whole height while nothing is shown below it.
TEST_F(PanelTest, TheRankingFillsThePanelWithoutASelection) {
  Open({.steps = 20}, ViewKind::kTimeline);
  const auto* rankings = details()->findChild<QTabWidget*>();
  EXPECT_GT(rankings->height(), details()->height() * 3 / 4);
}

TEST_F(PanelTest, ARowOfARankingSelectsItsSiteEverywhere) {
  Open({.steps = 20});
  int leak_row = -1;
  for (int row = 0; row < details()->sites().rowCount(); ++row) {
    if (details()->sites().row(row).name.startsWith(QString::fromUtf8(testing::kLeakFunction))) {
      leak_row = row;
    }
  }
  ASSERT_GE(leak_row, 0);
  QTreeView* table = Ranking(details()->sites());
  ASSERT_NE(table, nullptr);
  table->setCurrentIndex(table->model()->index(leak_row, 0));
  window_.WaitUntilSettled();
  const analysis::StackId leak = window_.document().report()->leaks[0].leak.stack;
  EXPECT_EQ(window_.selection().site(), leak);
  EXPECT_EQ(window_.leaks()->model().leak(window_.leaks()->table()->currentIndex())->leak.stack,
            leak);
  EXPECT_EQ(details()->stack().rowCount(), 4);
  EXPECT_EQ(details()->stack().index(0, 0).data().toString(),
            QString::fromUtf8(testing::kLeakFunction));
  EXPECT_TRUE(details()->SelectionText().contains(QStringLiteral("Call site")));
  QTest::keyClick(&window_, Qt::Key_Escape);
  EXPECT_FALSE(window_.selection().site().valid());
  EXPECT_TRUE(details()->SelectionText().contains(QStringLiteral("Select a block")));
  EXPECT_EQ(details()->stack().rowCount(), 0);
}

TEST_F(PanelTest, ATensorShowsItsLife) {
  Open({.steps = 20});
  QTreeView* table = Ranking(details()->tensors());
  ASSERT_NE(table, nullptr);
  for (int row = 0; row < details()->tensors().rowCount(); ++row) {
    table->setCurrentIndex(table->model()->index(row, 0));
    const analysis::AllocationId id = window_.selection().allocation();
    ASSERT_TRUE(id.valid());
    const analysis::Allocation& allocation = window_.document().session()->allocation(id);
    const QString text = details()->SelectionText();
    EXPECT_TRUE(text.contains(FormatAddress(allocation.address))) << qPrintable(text);
    EXPECT_TRUE(text.contains(allocation.birth_step < 0
                                  ? QStringLiteral("born before the first step")
                                  : QStringLiteral("born in step %1").arg(allocation.birth_step)));
    EXPECT_EQ(text.contains(QStringLiteral("never freed")), allocation.alive());
    EXPECT_TRUE(text.contains(QStringLiteral("in block (")))
        << "what it lies in: " << qPrintable(text);
    EXPECT_TRUE(text.contains(QStringLiteral("in segment (")));
  }
}

TEST_F(PanelTest, WhatGraphsKeepSaysSo) {
  analysis::testing::LogBuilder log;
  constexpr std::uint64_t kBase = 0x700000000000;
  log.Device(0, 64 * kMiB);
  for (const std::uint64_t pool : {0ull, 3ull << 32}) {
    const std::uint64_t address = kBase + (pool >> 8);
    log.Alloc(analysis::Layer::kLinear, address, 8 * kMiB);
    log.Alloc(analysis::Layer::kSegment, address, 8 * kMiB, {.aux1 = pool});
    log.Alloc(analysis::Layer::kBlock, address, 6 * kMiB, {.aux1 = pool});
  }
  OpenLog(log);
  for (const std::uint32_t row : {1u, 2u, 4u, 5u}) {
    window_.selection().SelectAllocation(analysis::AllocationId(row), analysis::StackId());
    window_.WaitUntilSettled();
    EXPECT_EQ(details()->SelectionText().contains(QStringLiteral("private pool (3, 0)")), row > 3)
        << qPrintable(details()->SelectionText());
  }
}

TEST_F(PanelTest, StacksCanBeCopied) {
  Open({.steps = 20}, ViewKind::kLeaks);
  auto* stack = window_.leaks()->findChild<StackView*>();
  ASSERT_NE(stack, nullptr);
  stack->actions().front()->trigger();
  const QString text = QGuiApplication::clipboard()->text();
  EXPECT_EQ(text.count(QLatin1Char('\n')), 4) << qPrintable(text);
  EXPECT_TRUE(text.startsWith(QString::fromUtf8(testing::kLeakFunction)));
}

class LeakViewTest : public PanelTest {
 protected:
  void SetUp() override { Open({.steps = 30}, ViewKind::kLeaks); }
};

TEST_F(LeakViewTest, BarsShowEvidenceAndWhatIsTooYoung) {
  SurvivorChart* chart = window_.leaks()->chart();
  const QImage image = Grab(chart);
  const LeakRow& row = window_.document().report()->leaks[0];
  const QRectF plot = chart->PlotRect();
  const std::vector<SurvivorBar> bars =
      LayOutSurvivors(row.leak.survivors, 30, row.leak.guard_steps, plot, 5);
  ASSERT_EQ(bars.size(), 30u);
  int young = 0;
  for (const SurvivorBar& bar : bars) {
    ASSERT_EQ(bar.bytes, testing::kLeakBytes) << "one block in each step";
    EXPECT_TRUE(testing::Near(image.pixelColor(bar.rect.center().toPoint()),
                              theme().Categorical(bar.evidence ? 5 : -1)))
        << "step " << bar.first_step;
    young += !bar.evidence;
  }
  EXPECT_EQ(young, row.leak.guard_steps);
  const QRect below(0, static_cast<int>(plot.bottom()) + 2, chart->width(), 30);
  EXPECT_GT(Count(image, below, theme().muted), 3) << "numbers of steps";
  const QString tip = testing::TipAt(chart, bars[7].rect.center().toPoint());
  EXPECT_EQ(tip, QStringLiteral("step 7: 1.00 MiB in 1 block survive"));
  EXPECT_EQ(testing::TipAt(chart, {2, 2}), QString());
}

TEST_F(LeakViewTest, EvidenceIsWhyAndWhatWouldDisproveIt) {
  const QString text = window_.leaks()->EvidenceText();
  const LeakRow& row = window_.document().report()->leaks[0];
  EXPECT_TRUE(text.contains(ToQString(row.leak.why).toHtmlEscaped())) << qPrintable(text);
  EXPECT_TRUE(text.contains(ToQString(row.leak.disproof).toHtmlEscaped()));
  EXPECT_TRUE(text.contains(QStringLiteral("loss.retained")));
  EXPECT_TRUE(text.contains(QStringLiteral("Out of memory")));
}

TEST_F(LeakViewTest, HoldersComeFirstAndAsManyAsFit) {
  analysis::Leak leak = window_.document().report()->leaks[0].leak;
  for (int i = 0; i < 6; ++i)
    leak.holders.push_back(
        {"list `a" + std::to_string(i) + "`", "root", {}, analysis::HolderKind::kPython, 2048, 2});
  const QString text = LeakView::HoldersText(leak, theme());
  EXPECT_TRUE(text.contains(QStringLiteral("Held by:"))) << qPrintable(text);
  EXPECT_TRUE(text.contains(QStringLiteral("list <code>a0</code>, 2.00 KiB in 2 blocks")));
  EXPECT_TRUE(text.contains(QStringLiteral("list <code>a1</code>")));
  EXPECT_FALSE(text.contains(QStringLiteral("list <code>a2</code>"))) << "the rest is in the tree";
  EXPECT_TRUE(text.contains(QStringLiteral("4 more")));
  leak.holders.clear();
  EXPECT_EQ(LeakView::HoldersText(leak, theme()), QString());
}

TEST_F(LeakViewTest, TheTableIsAsHighAsItsRows) {
  QTreeView* table = window_.leaks()->table();
  const QModelIndex last = table->model()->index(0, 0, table->model()->index(1, 0));
  EXPECT_TRUE(last.isValid());
  EXPECT_LT(table->height(), window_.leaks()->height() / 2) << "the evidence has the rest";
  EXPECT_TRUE(table->viewport()->rect().contains(
      table->visualRect(table->model()->index(0, 0, table->model()->index(0, 0))).center()));
}

TEST_F(LeakViewTest, ShareBarsLieBehindTheirNumbers) {
  QTreeView* table = window_.leaks()->table();
  const QModelIndex heading = table->model()->index(1, 0);  // live at the end, by size
  const QImage image = Grab(table->viewport());
  const auto filled = [&](int row) {
    const QModelIndex cell = table->model()->index(row, LeakModel::kBytes, heading);
    const QRect rect = table->visualRect(cell);
    QColor accent = theme().accent;
    int count = 0;
    const QColor base =
        table->palette().color(row % 2 == 0 ? QPalette::Base : QPalette::AlternateBase);
    for (int x = rect.left() + 1; x < rect.right() - 1; ++x) {
      const QColor pixel = image.pixelColor(x, rect.top() + 3);
      count += testing::Near(pixel, testing::Blend(accent, base, 56 / 255.0), 12) &&
               !testing::Near(pixel, base, 6);
    }
    return static_cast<double>(count) / rect.width();
  };
  const QModelIndex first = table->model()->index(0, LeakModel::kBytes, heading);
  const QModelIndex second = table->model()->index(1, LeakModel::kBytes, heading);
  ASSERT_TRUE(second.isValid());
  const double share = second.data(LeakModel::kShareRole).toDouble();
  ASSERT_EQ(first.data(LeakModel::kShareRole).toDouble(), 1);
  EXPECT_GT(filled(0), 0.85);
  EXPECT_NEAR(filled(1), share, 0.12);
}

}  // namespace
}  // namespace memprof::viewer
