// The model of leaks, tested with Qt's model tester and as text.
#include "viewer/models/leak_model.h"

#include <gtest/gtest.h>

#include "tests/viewer/model_fixture.h"
#include "viewer/models/ranked_model.h"
#include "viewer/models/selection.h"
#include "viewer/models/stack_model.h"

namespace memprof::viewer {
namespace {

using analysis::LeakTier;
using analysis::StackId;
using testing::Frame;
using testing::kFatal;
using testing::Print;

LeakRow Row(LeakTier tier, std::uint32_t stack, std::uint64_t bytes, const char* function) {
  LeakRow row;
  row.leak.tier = tier;
  row.leak.stack = StackId(stack);
  row.leak.bytes = bytes;
  row.leak.blocks = 2;
  row.leak.layer = analysis::Layer::kBlock;
  row.leak.score = 87;
  row.leak.first_step = 3;
  row.leak.bytes_per_step = tier == LeakTier::kLiveAtExit ? 0 : 1024;
  row.site = Frame(function, "a.cc", 7);
  return row;
}

std::shared_ptr<const ReportData> SampleReport() {
  auto report = std::make_shared<ReportData>();
  report->leaks = {Row(LeakTier::kSuspected, 1, 4096, "Leaky"),
                   Row(LeakTier::kGrowing, 2, 2048, "Grows")};
  report->leaks[0].example = QStringLiteral("loss  fp32[2]");
  report->live_at_exit = {Row(LeakTier::kLiveAtExit, 3, 8192, "Weights"),
                          Row(LeakTier::kLiveAtExit, 4, 512, "Bias")};
  return report;
}

TEST(LeakModel, IsATreeOfTiers) {
  LeakModel model;
  const QAbstractItemModelTester tester(&model, kFatal);
  EXPECT_EQ(Print(model), QStringList());
  model.SetReport(SampleReport());
  const QString dash = QString::fromUtf8("–");
  EXPECT_EQ(
      Print(model),
      QStringList({QStringLiteral("Suspected (1)||||4.00 KiB|||"),
                   QStringLiteral("  Leaky (a.cc:7)|loss  fp32[2]|block|87|4.00 KiB|+1.00 KiB|2|3"),
                   QStringLiteral("Growing (1)||||2.00 KiB|||"),
                   QStringLiteral("  Grows (a.cc:7)||block|87|2.00 KiB|+1.00 KiB|2|3"),
                   QStringLiteral("Alive at the end (2)||||8.50 KiB|||"),
                   QStringLiteral("  Weights (a.cc:7)||block||8.00 KiB||2|3"),
                   QStringLiteral("  Bias (a.cc:7)||block||512 B||2|3")}));
  EXPECT_FALSE(Print(model).join(QLatin1Char(' ')).contains(dash));
  model.SetReport(nullptr);
  EXPECT_EQ(model.rowCount(), 0);
}

// Memory that grows without being a certain leak is listed between leaks and other live memory,
// with its score. A site in a package shows both lines.
TEST(LeakModel, WhatRisesHasABranch) {
  auto report = std::make_shared<ReportData>(*SampleReport());
  report->leaks.clear();
  report->rising = {Row(LeakTier::kLiveAtExit, 5, 4096, "main")};
  report->rising[0].rising = true;
  report->rising[0].library = Frame("forward", "/x/gpt2.py", 9);
  LeakModel model;
  const QAbstractItemModelTester tester(&model, kFatal);
  model.SetReport(report);
  EXPECT_EQ(Print(model),
            QStringList(
                {QStringLiteral("Rising, not sure to leak (1)||||4.00 KiB|||"),
                 QStringLiteral("  main (a.cc:7), in forward (gpt2.py:9)||block|87|4.00 KiB||2|3"),
                 QStringLiteral("Alive at the end (2)||||8.50 KiB|||"),
                 QStringLiteral("  Weights (a.cc:7)||block||8.00 KiB||2|3"),
                 QStringLiteral("  Bias (a.cc:7)||block||512 B||2|3")}));
  EXPECT_EQ(model.index(0, 0).data(Qt::ToolTipRole).toString(), RisingMeaning());
}

TEST(LeakModel, FindsSites) {
  LeakModel model;
  model.SetReport(SampleReport());
  const QModelIndex index = model.FindSite(StackId(4));
  ASSERT_TRUE(index.isValid());
  EXPECT_EQ(model.leak(index)->leak.bytes, 512u);
  EXPECT_EQ(model.leak(index.parent()), nullptr) << "headings are not leaks";
  EXPECT_FALSE(model.FindSite(StackId(99)).isValid());
  EXPECT_FALSE(model.FindSite({}).isValid());
  EXPECT_DOUBLE_EQ(
      model.index(0, LeakModel::kBytes, model.index(0, 0)).data(LeakModel::kShareRole).toDouble(),
      0.5);
}

TEST(LeakModel, CellsHaveTheirRoles) {
  LeakModel model;
  model.SetReport(SampleReport());
  const QModelIndex heading = model.index(0, 0), row = model.index(0, 0, heading);
  const auto cell = [&](int column, int role) { return row.siblingAtColumn(column).data(role); };
  EXPECT_EQ(cell(LeakModel::kScore, LeakModel::kSortRole).toDouble(), 87);
  EXPECT_EQ(cell(LeakModel::kBytes, LeakModel::kSortRole).toULongLong(), 4096u);
  EXPECT_EQ(cell(LeakModel::kSlope, LeakModel::kSortRole).toDouble(), 1024);
  EXPECT_EQ(cell(LeakModel::kBlocks, LeakModel::kSortRole).toULongLong(), 2u);
  EXPECT_EQ(cell(LeakModel::kFirstStep, LeakModel::kSortRole).toLongLong(), 3);
  EXPECT_FALSE(cell(LeakModel::kSite, LeakModel::kSortRole).isValid());
  EXPECT_EQ(cell(LeakModel::kSite, Qt::ToolTipRole).toString(), QStringLiteral("Leaky"));
  EXPECT_EQ(cell(LeakModel::kExample, Qt::ToolTipRole).toString(), QStringLiteral("loss  fp32[2]"));
  EXPECT_FALSE(cell(LeakModel::kScore, LeakModel::kShareRole).isValid()) << "bars for bytes only";
  for (int column = 0; column < LeakModel::kColumnCount; ++column) {
    EXPECT_EQ(cell(column, Qt::TextAlignmentRole).isValid(), column > LeakModel::kLayer);
    EXPECT_FALSE(model.headerData(column, Qt::Horizontal, Qt::DisplayRole).toString().isEmpty());
    EXPECT_FALSE(model.headerData(column, Qt::Horizontal, Qt::ToolTipRole).toString().isEmpty());
    EXPECT_FALSE(model.headerData(column, Qt::Vertical, Qt::DisplayRole).isValid());
  }
  EXPECT_EQ(heading.data(Qt::ToolTipRole).toString(), TierMeaning(LeakTier::kSuspected));
  EXPECT_TRUE(heading.data(Qt::FontRole).value<QFont>().bold());
  EXPECT_FALSE(heading.data(LeakModel::kSortRole).isValid());
  EXPECT_FALSE(model.data({}, Qt::DisplayRole).isValid());
}

TEST(LeakModel, TiersAreNamedAndExplained) {
  QStringList titles, meanings;
  for (const LeakTier tier :
       {LeakTier::kDefinite, LeakTier::kSuspected, LeakTier::kGrowing, LeakTier::kLiveAtExit}) {
    titles << TierTitle(tier);
    meanings << TierMeaning(tier);
  }
  EXPECT_EQ(titles, QStringList({QStringLiteral("Definite"), QStringLiteral("Suspected"),
                                 QStringLiteral("Growing"), QStringLiteral("Alive at the end")}));
  meanings.removeDuplicates();
  EXPECT_EQ(meanings.size(), 4);
}

TEST(LeakModel, TiersComeWorstFirstWhateverTheOrder) {
  auto report = std::make_shared<ReportData>();
  report->leaks = {Row(LeakTier::kGrowing, 1, 10, "G"), Row(LeakTier::kDefinite, 2, 20, "D"),
                   Row(LeakTier::kSuspected, 3, 30, "S")};
  report->leaks[2].leak.first_step = -1;
  LeakModel model;
  const QAbstractItemModelTester tester(&model, kFatal);
  model.SetReport(report);
  EXPECT_EQ(Print(model),
            QStringList({QStringLiteral("Definite (1)||||20 B|||"),
                         QStringLiteral("  D (a.cc:7)||block|87|20 B|+1.00 KiB|2|3"),
                         QStringLiteral("Suspected (1)||||30 B|||"),
                         QString::fromUtf8("  S (a.cc:7)||block|87|30 B|+1.00 KiB|2|–"),
                         QStringLiteral("Growing (1)||||10 B|||"),
                         QStringLiteral("  G (a.cc:7)||block|87|10 B|+1.00 KiB|2|3")}));
}

}  // namespace
}  // namespace memprof::viewer
