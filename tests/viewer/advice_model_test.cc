// Findings as a tree, tested with Qt's model tester and as text.
#include "viewer/models/advice_model.h"

#include <gtest/gtest.h>

#include "analysis/base/sizes.h"
#include "tests/viewer/demo_log.h"
#include "tests/viewer/model_fixture.h"
#include "viewer/models/fact_table.h"

namespace memprof::viewer {
namespace {

using analysis::kMiB;
using analysis::Pattern;
using analysis::StackId;
using testing::kFatal;
using testing::Lines;
using testing::Print;

AdviceEntry Entry(Pattern pattern, const char* site, std::uint32_t stack, std::uint64_t saves) {
  AdviceEntry entry;
  entry.finding.pattern = pattern;
  entry.finding.stack = StackId(stack);
  entry.finding.saves_bytes = saves;
  entry.finding.peak_of = analysis::PeakLayer::kBlocks;
  entry.finding.new_peak.bytes = 100 * kMiB - saves;
  entry.finding.why = "because";
  entry.site = QString::fromUtf8(site);
  return entry;
}

std::shared_ptr<AdvicePicture> SampleAdvice() {
  auto picture = std::make_shared<AdvicePicture>();
  picture->entries = {Entry(Pattern::kLeak, "Leak (a.cc:1)", 1, 8 * kMiB),
                      Entry(Pattern::kLateRelease, "Late (a.cc:2)", 2, 4 * kMiB),
                      Entry(Pattern::kLateRelease, "Leak (a.cc:1)", 1, 2 * kMiB),
                      Entry(Pattern::kIdle, "Idle (a.cc:3)", 3, 16 * kMiB),
                      Entry(Pattern::kUnused, "Tiny (a.cc:4)", 4, 512)};
  picture->entries[1].held = 2048;
  picture->entries[3].finding.upper_bound = true;
  picture->entries[4].finding.below_noise = true;
  picture->entries[4].finding.moved_bytes = 4096;
  picture->hidden = 1;
  return picture;
}

TEST(AdviceModel, GroupsByCostPatternOrSite) {
  AdviceModel model;
  const QAbstractItemModelTester tester(&model, kFatal);
  EXPECT_EQ(Print(model), QStringList());
  model.SetPicture(SampleAdvice());
  EXPECT_EQ(Print(model),
            Lines({"At no cost|3 findings||||", "  Leak|Leak (a.cc:1)|8.00 MiB|–|–|certain",
                   "  Late release|Late (a.cc:2)|4.00 MiB|2.00 KiB|–|certain",
                   "  Late release|Leak (a.cc:1)|2.00 MiB|–|–|certain",
                   "Trade-offs and bounds|1 finding||||",
                   "  Temporary idleness|Idle (a.cc:3)|≤ 16.0 MiB|–|–|certain"}));
  model.SetGrouping(AdviceGrouping::kSite);
  EXPECT_EQ(
      Print(model),
      Lines({"Leak (a.cc:1)|2 findings||||", "  Leak|Leak (a.cc:1)|8.00 MiB|–|–|certain",
             "  Late release|Leak (a.cc:1)|2.00 MiB|–|–|certain", "Late (a.cc:2)|1 finding||||",
             "  Late release|Late (a.cc:2)|4.00 MiB|2.00 KiB|–|certain",
             "Idle (a.cc:3)|1 finding||||",
             "  Temporary idleness|Idle (a.cc:3)|≤ 16.0 MiB|–|–|certain"}));
  model.SetGrouping(AdviceGrouping::kPattern);
  EXPECT_EQ(model.rowCount(), 3);
  EXPECT_EQ(model.rowCount(model.index(1, 0)), 2);
  model.SetNoiseShown(true);
  EXPECT_EQ(model.rowCount(), 4);
  EXPECT_EQ(model.shown(), 5u);
}

TEST(AdviceModel, SortsWithinGroupsAndKeepsToTheFilter) {
  AdviceModel model;
  const QAbstractItemModelTester tester(&model, kFatal);
  model.SetPicture(SampleAdvice());
  model.sort(AdviceModel::kPeak, Qt::AscendingOrder);
  EXPECT_EQ(model.index(0, AdviceModel::kPeak, model.index(0, 0)).data().toString(),
            QStringLiteral("2.00 MiB"));
  EXPECT_EQ(model.FindSite(StackId(2)).row(), 1);
  EXPECT_FALSE(model.FindSite(StackId(4)).isValid());  // below the noise limit
  model.SetPassing(
      std::make_shared<const std::vector<bool>>(std::vector<bool>{false, true, false, true, true}));
  EXPECT_EQ(model.shown(), 2u);
  EXPECT_EQ(model.filtered(), 2u);
  EXPECT_EQ(model.entry(model.First())->site, QStringLiteral("Late (a.cc:2)"));
  EXPECT_EQ(model.entry(model.index(0, 0)), nullptr);
  // Bars are scaled to the largest finding shown.
  const QModelIndex late = model.index(0, AdviceModel::kPeak, model.index(0, 0));
  EXPECT_DOUBLE_EQ(late.data(AdviceModel::kShareRole).toDouble(), 0.25);
  model.SetPassing(nullptr);
  EXPECT_EQ(model.filtered(), 0u);
  EXPECT_EQ(model.RawRow(*model.entry(model.First())).size(), model.Headings().size());
}

TEST(GainText, SaysWhatIsSaved) {
  AdviceEntry entry = Entry(Pattern::kLeak, "x", 1, 3 * kMiB);
  EXPECT_EQ(GainText(entry), QStringLiteral("3.00 MiB off the peak of blocks"));
  AdviceEntry replayed = entry;
  replayed.finding.reserved = 8 << 20;
  replayed.finding.new_reserved = 4 << 20;
  EXPECT_EQ(GainText(replayed), QStringLiteral("3.00 MiB off the peak of blocks; reserved then "
                                               "4.00 MiB, now 8.00 MiB, by a replay"));
  entry.finding.saves_bytes = 0;
  entry.held = 4096;
  EXPECT_EQ(GainText(entry), QStringLiteral("nothing off the peak of blocks; 4.00 KiB less held on "
                                            "average of the run"));
  AdviceEntry copies;
  copies.finding.pattern = Pattern::kDuplicateTransfer;
  EXPECT_EQ(GainText(copies), QStringLiteral("time, not memory"));
  copies.finding.moved_bytes = 1024;
  EXPECT_EQ(GainText(copies), QStringLiteral("1.00 KiB less moved"));
  copies.finding.pattern = Pattern::kPageableCopy;
  EXPECT_EQ(GainText(copies), QStringLiteral("1.00 KiB no longer copied twice"));
}

}  // namespace
}  // namespace memprof::viewer
