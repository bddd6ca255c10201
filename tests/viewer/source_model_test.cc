// The table of a source file's lines, as text; and the maps by which files are found.
#include "viewer/models/source_model.h"

#include <gtest/gtest.h>

#include <QSettings>

#include "analysis/testing/log_builder.h"
#include "tests/support/load_log.h"
#include "tests/viewer/model_fixture.h"
#include "viewer/models/source_maps.h"

namespace memprof::viewer {
namespace {

using analysis::StackId;
using testing::kFatal;
using testing::Lines;
using testing::Print;
using testing::S;

SourcePicture ThreeLines() {
  analysis::SourceText text;
  text.lines = {"def f():", "    g()", "    return 1"};
  SourcePicture picture;
  picture.file = "/src/t.py";
  picture.text = std::make_shared<const analysis::SourceText>(text);
  picture.lines = {{1, {}, {3072, 3072, 512}, 2, {}, {StackId(1), StackId(2)}},
                   {2, {1024, 2048, 512}, {1024, 2048, 512}, 1, {StackId(2)}, {StackId(2)}},
                   {5, {0, 1024, 0}, {0, 1024, 0}, 1, {StackId(3)}, {StackId(3)}}};
  return picture;
}

TEST(SourceModel, ShowsTheWholeTextWithFiguresAndLinesBeyondIt) {
  SourceModel model;
  const QAbstractItemModelTester tester(&model, kFatal);
  model.SetPicture(ThreeLines());
  EXPECT_EQ(Print(model), Lines({"|||1|def f():", "1.00 KiB|2.00 KiB|512 B|2|    g()",
                                 "|||3|    return 1", "|1.00 KiB||5|"}));
  EXPECT_DOUBLE_EQ(model.index(3, 1).data(SourceModel::kShareRole).toDouble(), 0.5);
  EXPECT_FALSE(model.index(0, 0).data(SourceModel::kShareRole).isValid());
  EXPECT_EQ(model.index(0, 0).data(SourceModel::kPlainRole).toString(), S("0"));
  EXPECT_EQ(model.LargestLine(), 2);
  EXPECT_TRUE(model.Stacks(0).empty());
  EXPECT_EQ(model.Stacks(1), std::vector<StackId>{StackId(2)});
  model.SetInclusive(true);
  EXPECT_EQ(Print(model)[0], S("3.00 KiB|3.00 KiB|512 B|1|def f():"));
  EXPECT_EQ(model.LargestLine(), 1);
  EXPECT_EQ(model.Stacks(0).size(), 2u);
  EXPECT_TRUE(model.index(0, 0).data(Qt::ToolTipRole).toString().contains(S("2 call stacks")));
}

TEST(SourceModel, WithoutTextHasTheLinesWithBytes) {
  SourceModel model;
  const QAbstractItemModelTester tester(&model, kFatal);
  SourcePicture picture = ThreeLines();
  picture.text = nullptr;
  model.SetPicture(picture);
  EXPECT_EQ(Print(model), Lines({"|||1|", "1.00 KiB|2.00 KiB|512 B|2|", "|1.00 KiB||5|"}));
  EXPECT_EQ(model.RowOf(5), 2);
  EXPECT_EQ(model.RowOf(3), -1);
  EXPECT_TRUE(model.Has(SourceModel::kLeaked));
  model.SetPicture({});
  EXPECT_EQ(model.rowCount(), 0);
  EXPECT_FALSE(model.Has(SourceModel::kLive));
  EXPECT_EQ(model.LargestLine(), 0);
}

TEST(SourceModel, MarksTheLineOfAFrame) {
  SourceModel model;
  model.SetPicture(ThreeLines());
  model.SetMarked(2);
  const auto bold = [&](int row) {
    return model.index(row, SourceModel::kText).data(Qt::FontRole).value<QFont>().bold();
  };
  EXPECT_TRUE(bold(1));
  EXPECT_FALSE(bold(0));
}

TEST(SourceMaps, OfTheCommandLineComeFirstAndLearnedOnesAreKept) {
  QSettings().remove(S("source/maps"));
  const auto session = analysis::testing::LoadLog(analysis::testing::LogBuilder());
  ASSERT_NE(session, nullptr);
  EXPECT_FALSE(LearnSourceFile(S("/src/t.py"), S("/home/u.py")).ok());
  EXPECT_TRUE(PlacesOf(*session).maps.empty());
  ASSERT_TRUE(LearnSourceFile(S("/src/t.py"), S("/home/t.py")).ok());
  ASSERT_TRUE(LearnSourceFile(S("/lib/t.py"), S("/home/t.py")).ok());
  ASSERT_TRUE(LearnSourceFile(S("/src/u.py"), S("/home/u.py")).ok());
  SetSourceMaps({S("/a=/b"), S("=")});
  EXPECT_EQ(PlacesOf(*session).maps,
            (std::vector<analysis::SourceMap>{{"/a", "/b"}, {"/src", "/home"}, {"/lib", "/home"}}));
  SetSourceMaps({});
  QSettings().remove(S("source/maps"));
}

}  // namespace
}  // namespace memprof::viewer
