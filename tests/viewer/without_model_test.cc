// The model of the peak without a part, tested with Qt's model tester and as text.
#include "viewer/models/without_model.h"

#include <gtest/gtest.h>

#include <QFont>

#include "tests/viewer/compare_models.h"
#include "tests/viewer/model_fixture.h"

namespace memprof::viewer {
namespace {

using analysis::StackId;
using analysis::WithoutBy;
using testing::CompareModels;
using testing::kFatal;
using testing::Print;
using testing::S;
using testing::Show;

analysis::WithoutRanking Ranking() {
  analysis::WithoutRanking ranking;
  ranking.peak.bytes = 1000;
  ranking.row_of = {analysis::kNoGroup, 0, 1, 2, 2};
  for (int i = 0; i < 3; ++i) {
    analysis::WithoutRow row;
    row.site.function = "Site" + std::to_string(i);
    row.site.file = "a.cc";
    row.site.line = i + 1;
    row.stack = StackId(static_cast<std::uint32_t>(i) + 1);
    row.allocations = 3;
    row.at_peak = 500;
    row.saving.saves_bytes = 500u >> i;
    row.saving.without.bytes = 1000 - row.saving.saves_bytes;
    ranking.rows.push_back(row);
  }
  return ranking;
}

TEST_F(CompareModels, TheSelectedSiteComesFirst) {
  const auto session = Load(2);
  WithoutModel model;
  const QAbstractItemModelTester tester(&model, kFatal);
  EXPECT_EQ(Show(Print(model)), Show(QStringList()));
  model.SetData(DescribeWithout(*session, Ranking(), WithoutBy::kSite));
  const QStringList by_saving = {S("Site0 (a.cc:1)|3|500 B|500 B|500 B|50 %|–"),
                                 S("Site1 (a.cc:2)|3|500 B|750 B|250 B|25 %|–"),
                                 S("Site2 (a.cc:3)|3|500 B|875 B|125 B|12 %|–")};
  EXPECT_EQ(Show(Print(model)), Show(by_saving));
  EXPECT_FALSE(model.first_is_selected());
  model.SetSelected(StackId(4));
  EXPECT_TRUE(model.first_is_selected());
  EXPECT_EQ(Show(Print(model)), Show(QStringList({by_saving[2], by_saving[0], by_saving[1]})));
  EXPECT_TRUE(model.index(0, 0).data(Qt::FontRole).value<QFont>().bold());
  EXPECT_FALSE(model.index(1, 0).data(Qt::FontRole).isValid());
  EXPECT_EQ(model.row(0).site.line, 3);
  EXPECT_DOUBLE_EQ(model.index(0, WithoutModel::kSaves).data(WithoutModel::kShareRole).toDouble(),
                   0.125);
  model.SetData(DescribeWithout(*session, Ranking(), WithoutBy::kSite));
  EXPECT_TRUE(model.first_is_selected()) << "also in the next ranking";
  for (const StackId none : {StackId(), StackId(0), StackId(99)}) {
    model.SetSelected(none);
    EXPECT_EQ(Show(Print(model)), Show(by_saving));
  }
  model.SetData(nullptr);
  EXPECT_EQ(model.rowCount(), 0);
}

TEST_F(CompareModels, GroupsAreNamedByWhatTheyAre) {
  const auto session = Load(2);
  analysis::WithoutRanking ranking = Ranking();
  ranking.rows.resize(1);
  ranking.rows[0].tensor = "h.0.attn";
  ranking.rows[0].category = analysis::Category::kGradients;
  ranking.rows[0].layer = analysis::Layer::kPinned;
  ranking.rows[0].saving.without.event = analysis::EventId(3);
  const auto name = [&](WithoutBy by) { return DescribeWithout(*session, ranking, by)->names[0]; };
  EXPECT_EQ(name(WithoutBy::kTensor), S("h.0.attn"));
  EXPECT_EQ(name(WithoutBy::kCategory), S("gradients"));
  EXPECT_EQ(name(WithoutBy::kLayer), S("pinned"));
  EXPECT_EQ(DescribeWithout(*session, ranking, WithoutBy::kSite)->when[0], S("set-up"));
  ranking.rows[0].site = {};
  EXPECT_EQ(name(WithoutBy::kSite), S("(no call stack)"));
}

}  // namespace
}  // namespace memprof::viewer
