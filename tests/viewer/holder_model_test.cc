// Trees of holders as text, and what their rows say when they are copied, pointed at and opened.
#include "viewer/models/holder_model.h"

#include <gtest/gtest.h>

#include <QTemporaryDir>
#include <memory>

#include "analysis/load/load.h"
#include "tests/viewer/held_log.h"
#include "tests/viewer/model_fixture.h"

namespace memprof::viewer {
namespace {

using testing::HeldLog;
using testing::kFatal;
using testing::Lines;
using testing::Print;
using testing::S;
using Kind = analysis::HolderKind;

class HolderModelTest : public ::testing::Test {
 protected:
  void Load() {
    const QString path = directory_.filePath(S("held.mprof"));
    ASSERT_TRUE(log_.log().WriteTo(path.toStdString()).ok());
    session_ = *analysis::LoadLogs({path.toStdString()}, {.find_steps = false});
    holders_ = std::make_unique<analysis::Holders>(*session_);
    for (std::uint32_t i = 0; i < session_->records().size(); ++i)
      if (session_->record(analysis::AllocationId(i)).layer == analysis::Layer::kBlock)
        blocks_.emplace_back(i);
  }
  void Show(const char* name) {
    model_.SetTree(std::make_shared<const analysis::HolderTree>(TreeOf(*holders_, blocks_)),
                   {S(name), blocks_.size() * analysis::kMiB, blocks_.size()});
  }
  // The first row with this text at its begin.
  QModelIndex Find(const char* text, const QModelIndex& parent = {}) {
    for (int row = 0; row < model_.rowCount(parent); ++row) {
      const QModelIndex index = model_.index(row, 0, parent);
      if (index.data().toString().startsWith(S(text))) return index;
      const QModelIndex below = Find(text, index);
      if (below.isValid()) return below;
    }
    return {};
  }

  QTemporaryDir directory_;
  HeldLog log_;
  std::shared_ptr<const analysis::Session> session_;
  std::unique_ptr<analysis::Holders> holders_;
  std::vector<analysis::AllocationId> blocks_;
  HolderModel model_;
};

TEST_F(HolderModelTest, FromTheMemoryToItsRoots) {
  const QAbstractItemModelTester tester(&model_, kFatal);
  for (int i = 0; i < 4; ++i) log_.Block(i);
  for (const int i : {0, 1})
    log_.Held(i, Kind::kPython,
              "list `m.p` (global `m`, train.py:10)\nglobal `m`, train.py:10\nM `m`\nlist `m.p`");
  log_.Held(1, Kind::kPython,
            "list `m.p` (local `t` of f(), at a.py:2)\nlocal `t` of f(), at a.py:2\nlist `m.p`");
  log_.Held(2, Kind::kAutograd,
            "saved by Exp for the graph of `l`\nglobal `l`, train.py:7\nTensor `l`\nits graph");
  log_.EndLook();
  Load();
  Show("4 blocks, 4.00 MiB");
  EXPECT_EQ(Print(model_),
            Lines({"4 blocks, 4.00 MiB|4.00 MiB|4", "  list m.p|2.00 MiB|2", "    M m|2.00 MiB|2",
                   "      Python: global m, train.py:10|2.00 MiB|2",
                   "    Python: local t of f(), at a.py:2|1.00 MiB|1", "  its graph|1.00 MiB|1",
                   "    Tensor l|1.00 MiB|1", "      autograd: global l, train.py:7|1.00 MiB|1",
                   "  no look found what holds the rest|1.00 MiB|1"}));
  EXPECT_EQ(model_.size(), 9);
  EXPECT_TRUE(model_.differs());
  EXPECT_EQ(model_.headerData(0, Qt::Horizontal, Qt::DisplayRole).toString(), S("Held by"));

  const QModelIndex list = Find("list");
  const QString both =
      S("list `m.p` (global `m`, train.py:10)\nlist `m.p` (local `t` of f(), at a.py:2)");
  EXPECT_EQ(model_.Paths(list), both) << "the holders of a branch";
  EXPECT_EQ(list.data(Qt::ToolTipRole).toString(), QString(both).remove(QLatin1Char('`')));
  EXPECT_EQ(model_.Paths(Find("Python: global")), S("list `m.p` (global `m`, train.py:10)"));
  EXPECT_EQ(model_.Paths(Find("no look")), QString());
  EXPECT_TRUE(Find("no look").data(Qt::ToolTipRole).toString().contains(S("last look")));

  model_.SetTree(nullptr, {});
  EXPECT_EQ(Print(model_), QStringList());
  EXPECT_EQ(model_.size(), 0);
}

TEST_F(HolderModelTest, EndsSayWhatKindOfHolderTheyAre) {
  log_.Block(0);
  log_.Held(0, Kind::kCpp, "only native code holds this\nnative code\nTensor `Tensor`");
  log_.Held(0, Kind::kCpp, "o\nthe context of a thread\nTensor `c`");
  log_.Held(0, Kind::kCycle, "`T.n`, in a cycle …\ncycle\nT `T.n.t`, the same\nT `T`");
  log_.Held(0, Kind::kCycle, "`U`\nan odd one\nU `U`");
  log_.Held(0, Kind::kUnknown, "said alone");
  log_.EndLook();
  Load();
  Show("block");
  QStringList rows = Print(model_);
  EXPECT_EQ(rows.size(), 11) << qPrintable(rows.join(S("\n")));
  for (const char* row :
       {"    native code|1.00 MiB|1", "    native code: the context of a thread|1.00 MiB|1",
        "    T T.n.t, the same|1.00 MiB|1", "      ↺ waits for the collector|1.00 MiB|1",
        "    ↺ cycle: an odd one|1.00 MiB|1", "  said alone|1.00 MiB|1"})
    EXPECT_TRUE(rows.contains(S(row))) << row << " in\n" << qPrintable(rows.join(S("\n")));
  EXPECT_FALSE(model_.differs()) << "one block, wholly held";
}

TEST_F(HolderModelTest, ManyHoldersOfABranchAreCutInItsTip) {
  log_.Block(0);
  for (int i = 0; i < 20; ++i)
    log_.Held(0, Kind::kPython, "p" + std::to_string(i) + "\nr" + std::to_string(i) + "\nlist");
  log_.EndLook();
  Load();
  Show("block");
  const QStringList tip = Find("list").data(Qt::ToolTipRole).toString().split(QLatin1Char('\n'));
  EXPECT_EQ(tip.size(), 7);
  EXPECT_EQ(tip.last(), S("…"));
  EXPECT_EQ(model_.Paths(Find("list")).count(QLatin1Char('\n')), 19) << "all are copied";
}

TEST_F(HolderModelTest, PlacesAreThoseOfTheText) {
  log_.Block(0);
  log_.Held(0, Kind::kPython, "p\nlocal `x[1.5:2]` of f(), at my-train.py:12\nlist `l`");
  log_.EndLook();
  Load();
  Show("block");
  const auto place = model_.Place(Find("Python"));
  ASSERT_TRUE(place.has_value());
  EXPECT_EQ(place->file, "my-train.py");
  EXPECT_EQ(place->line, 12);
  EXPECT_FALSE(model_.Place(Find("list")).has_value());
  EXPECT_FALSE(model_.Place({}).has_value());
}

TEST_F(HolderModelTest, WhyABlockHasNoHolder) {
  log_.Block(0);
  Load();
  EXPECT_EQ(WhyNoHolder(*holders_, blocks_[0]), QString()) << "the log has no looks";
  log_.EndLook();
  log_.Block(1);
  log_.Free(1);
  log_.EndLook();
  log_.Block(2);
  log_.Tensor(2);
  blocks_.clear();
  Load();
  ASSERT_EQ(blocks_.size(), 3u);
  EXPECT_EQ(WhyNoHolder(*holders_, blocks_[0]), S("Held by: no look found what holds it"));
  EXPECT_TRUE(WhyNoHolder(*holders_, blocks_[1]).contains(S("between two looks")));
  EXPECT_TRUE(WhyNoHolder(*holders_, blocks_[2]).contains(S("after the last look")));
  for (const std::uint32_t driver : {0u, 1u})
    EXPECT_EQ(WhyNoHolder(*holders_, analysis::AllocationId(driver)), QString())
        << "nobody looks for holders of driver memory with blocks, and of segments";
  const analysis::AllocationId tensor(static_cast<std::uint32_t>(session_->records().size()) - 1);
  ASSERT_EQ(session_->record(tensor).layer, analysis::Layer::kTensor);
  EXPECT_EQ(HeldBlock(*session_, tensor), blocks_[2]);
  EXPECT_EQ(HeldBlock(*session_, blocks_[2]), blocks_[2]);
}

}  // namespace
}  // namespace memprof::viewer
