// Advice in a window, and what all such views keep when they are reopened.
#include "viewer/views/advice_view.h"

#include <gtest/gtest.h>

#include <QCheckBox>
#include <QComboBox>
#include <QTreeView>

#include "tests/viewer/table_fixture.h"
#include "tests/viewer/why_fixture.h"
#include "viewer/views/fact_view.h"
#include "viewer/views/fragmentation_page.h"
#include "viewer/views/oom_page.h"
#include "viewer/views/rich_label.h"

namespace memprof::viewer {
namespace {

using testing::Csv;
using testing::WhyTest;

TEST_F(WhyTest, AdviceShowsTheLeakWithItsPeakAndSelectsIt) {
  Open({}, ViewKind::kAdvice);
  ASSERT_GT(advice()->model().shown(), 0u);
  EXPECT_TRUE(advice()->SummaryText().contains(QStringLiteral("best first")));
  const QModelIndex first = advice()->model().First();
  const AdviceEntry* entry = advice()->model().entry(first);
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(entry->finding.pattern, analysis::Pattern::kLeak);
  EXPECT_TRUE(advice()->DetailText().contains(QStringLiteral("Change:")));
  // Showing a finding selects nothing; making it current does.
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
  const QString csv = Csv(*advice());
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
  // Another log has other findings.
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
