// Call trees and tables of functions as models: rows as text, expanded one by one, sorted,
// searched.
#include <gtest/gtest.h>

#include <QFont>

#include "analysis/load/load.h"
#include "analysis/testing/log_builder.h"
#include "tests/viewer/demo_log.h"
#include "tests/viewer/model_fixture.h"
#include "viewer/models/call_tree_model.h"
#include "viewer/models/function_model.h"

namespace memprof::viewer {
namespace {

using analysis::Layer;
using analysis::testing::LogBuilder;
using testing::kFatal;
using testing::Print;
using testing::S;

class CallModelsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    LogBuilder log;
    const int big = log.Stack({"main (m.cc:1)", "Walk (w.cc:5)", "Walk (w.cc:6)", "Take (t.cc:9)"});
    const int small = log.Stack({"main (m.cc:2)", "Load (l.cc:3)"});
    const int own = log.Stack({"main (m.cc:3)", "Walk (w.cc:7)"});
    std::uint64_t address = 0x1000;
    for (const auto& [stack, bytes] :
         {std::pair{big, 4096}, {big, 4096}, {small, 1024}, {small, 512}, {small, 512}, {own, 100}})
      log.Alloc(Layer::kLinear, address += 0x10000, static_cast<std::uint64_t>(bytes),
                {.stack = stack});
    const QString path = directory_.filePath(S("own.mprof"));
    ASSERT_TRUE(log.WriteTo(path.toStdString()).ok());
    session_ = *analysis::LoadLogs({path.toStdString()}, {.find_steps = false});
    symbols_ = std::make_unique<analysis::Symbols>(session_);
    stacks_ = std::make_shared<const analysis::CallStacks>(*session_, *symbols_,
                                                           analysis::FindSites(*session_, {}));
  }
  std::shared_ptr<const analysis::CallTree> Tree(bool bottom_up) {
    return std::make_shared<const analysis::CallTree>(stacks_, bottom_up);
  }
  std::uint32_t Function(const char* name) {
    for (std::uint32_t i = 0; i < stacks_->functions().size(); ++i)
      if (stacks_->functions()[i].function == name) return i;
    return ~0u;
  }

  QTemporaryDir directory_;
  std::shared_ptr<const analysis::Session> session_;
  std::unique_ptr<analysis::Symbols> symbols_;
  std::shared_ptr<const analysis::CallStacks> stacks_;
};

TEST_F(CallModelsTest, TreesFromEitherEnd) {
  CallTreeModel model;
  const QAbstractItemModelTester tester(&model, kFatal);
  EXPECT_EQ(Print(model), QStringList());
  model.SetTree(Tree(false), false);
  EXPECT_EQ(
      Print(model),
      QStringList({S("main|10.1 KiB||6|m.cc:1"), S("  Walk|8.10 KiB|100 B|3|w.cc:5"),
                   S("    Walk|8.00 KiB||2|w.cc:6"), S("      Take|8.00 KiB|8.00 KiB|2|t.cc:9"),
                   S("  Load|2.00 KiB|2.00 KiB|3|l.cc:3")}))
      << "lines are those of the costliest stack";
  model.SetTree(Tree(true), false);
  const QStringList up = Print(model);
  ASSERT_EQ(up.size(), 8);
  EXPECT_TRUE(up[0].startsWith(S("Take|8.00 KiB|")));
  EXPECT_TRUE(up[1].startsWith(S("  Walk|8.00 KiB|")));
  EXPECT_TRUE(up[2].startsWith(S("    Walk|8.00 KiB|")));
  EXPECT_TRUE(up[3].startsWith(S("      main|8.00 KiB|")));
  EXPECT_TRUE(up[4].startsWith(S("Load|2.00 KiB|")));
  EXPECT_TRUE(up[6].startsWith(S("Walk|100 B|")));
  model.SetTree(nullptr, false);
  EXPECT_EQ(model.rowCount(), 0);
}

TEST_F(CallModelsTest, RowsAreMeasuredByTheChosenMetric) {
  CallTreeModel model;
  model.SetTree(Tree(false), true);
  const QModelIndex main = model.index(0, 0);
  EXPECT_EQ(model.index(0, 0, main).data().toString(), S("Walk"))
      << "three each: bytes do not decide";
  EXPECT_DOUBLE_EQ(
      model.index(1, CallTreeModel::kBlocks, main).data(CallTreeModel::kShareRole).toDouble(), 0.5);
  EXPECT_TRUE(main.data(CallTreeModel::kPythonRole).toBool());
  EXPECT_TRUE(main.data(Qt::ToolTipRole).toString().contains(S("6 allocations")));
}

TEST_F(CallModelsTest, SortingKeepsWhatIsMarked) {
  CallTreeModel model;
  const QAbstractItemModelTester tester(&model, kFatal);
  model.SetTree(Tree(false), false);
  const QModelIndex main = model.index(0, 0);
  const QPersistentModelIndex load(model.index(1, 0, main));
  ASSERT_EQ(load.data().toString(), S("Load"));
  model.sort(CallTreeModel::kFunction, Qt::AscendingOrder);
  EXPECT_EQ(load.row(), 0);
  EXPECT_EQ(load.data().toString(), S("Load"));
  model.sort(CallTreeModel::kInclusive, Qt::AscendingOrder);
  EXPECT_EQ(load.row(), 0) << "the smaller first";
  model.sort(CallTreeModel::kInclusive, Qt::DescendingOrder);
  EXPECT_EQ(load.row(), 1);
  model.sort(CallTreeModel::kSelf, Qt::DescendingOrder);
  EXPECT_EQ(load.row(), 0) << "Walk allocates only a little itself";
}

TEST_F(CallModelsTest, SearchLeavesWhatLeadsToAMatch) {
  CallTreeModel model;
  const QAbstractItemModelTester tester(&model, kFatal);
  model.SetTree(Tree(false), false);
  EXPECT_LT(model.matched(), 0);
  model.SetSearch(S("TAKE"));
  const QStringList rows = Print(model);
  ASSERT_EQ(rows.size(), 4);
  EXPECT_TRUE(rows[1].startsWith(S("  Walk|8.10 KiB"))) << "with the figures of the whole";
  EXPECT_NEAR(model.matched(), 8192 / 10340.0, 1e-9);
  const QModelIndex match = model.NextMatch({});
  EXPECT_EQ(match.data().toString(), S("Take"));
  EXPECT_TRUE(match.data(CallTreeModel::kMatchRole).toBool());
  EXPECT_TRUE(match.data(Qt::FontRole).value<QFont>().bold());
  EXPECT_FALSE(model.NextMatch(match).isValid()) << "the only one";
  model.SetSearch(S("w.cc"));
  QStringList met;
  for (QModelIndex at = model.NextMatch({}); at.isValid(); at = model.NextMatch(at))
    met << at.data().toString();
  EXPECT_EQ(met, QStringList({S("Walk"), S("Walk")})) << "files too; from top to bottom";
  model.SetSearch(S("nothing of the kind"));
  EXPECT_EQ(model.rowCount(), 0);
  EXPECT_EQ(model.matched(), 0);
  model.SetSearch({});
  EXPECT_EQ(Print(model).size(), 5);
}

TEST_F(CallModelsTest, FindsTheRowOfAStack) {
  for (const bool bottom_up : {false, true}) {
    CallTreeModel model;
    model.SetTree(Tree(bottom_up), false);
    for (std::size_t i = 0; i < stacks_->size(); ++i) {
      const QModelIndex found = model.FindStack(stacks_->site(i));
      ASSERT_TRUE(found.isValid());
      const auto path = stacks_->path(i);
      const std::uint32_t last = bottom_up ? path.front() : path.back();
      EXPECT_EQ(model.frame(found).function, stacks_->frame(last).function);
      EXPECT_EQ(model.node(found)->depth, path.size());
    }
    EXPECT_FALSE(model.FindStack({}).isValid());
    EXPECT_EQ(model.Stack(model.index(0, 0)), stacks_->site(0)) << "the costliest";
  }
}

TEST_F(CallModelsTest, FunctionsAreATable) {
  FunctionModel model(S("Function"));
  const QAbstractItemModelTester tester(&model, kFatal);
  model.SetRows(stacks_, stacks_->Functions(), false);
  const auto names = [&model] {
    QStringList rows;
    for (int row = 0; row < model.rowCount(); ++row)
      rows << QStringList({model.index(row, 0).data().toString(),
                           model.index(row, FunctionModel::kInclusive).data().toString(),
                           model.index(row, FunctionModel::kSelf).data().toString(),
                           model.index(row, FunctionModel::kBlocks).data().toString()})
                  .join(QLatin1Char('|'));
    return rows;
  };
  EXPECT_EQ(names(), QStringList({S("main|10.1 KiB||6"), S("Walk|8.10 KiB|100 B|3"),
                                  S("Take|8.00 KiB|8.00 KiB|2"), S("Load|2.00 KiB|2.00 KiB|3")}));
  const QPersistentModelIndex load(model.index(3, 0));
  model.sort(FunctionModel::kFunction, Qt::AscendingOrder);
  EXPECT_EQ(load.row(), 0);
  EXPECT_EQ(model.FindFunction(Function("Load")), 0);
  model.SetSearch(S("wal"));
  EXPECT_EQ(model.rowCount(), 1);
  EXPECT_EQ(model.FindFunction(Function("Load")), -1);
  EXPECT_EQ(model.frame(0).function, "Walk");
  EXPECT_NEAR(model.index(0, FunctionModel::kInclusive).data(FunctionModel::kShareRole).toDouble(),
              8292 / 10340.0, 1e-9);
  model.SetRows(nullptr, {}, false);
  EXPECT_EQ(model.rowCount(), 0);
}

}  // namespace
}  // namespace memprof::viewer
