// The tree of holders, against a reference that goes from each block to its roots by itself.
#include "analysis/leaks/holder_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analysis/leaks/leaks.h"
#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::LoadLog;
using testing::LogBuilder;

class HolderTreeTest : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kBase = 0x100000, kApart = 0x1000, kBytes = 1024;

  void Blocks(int count) {
    log_->Alloc(Layer::kLinear, kBase, 1 << 20);
    log_->Alloc(Layer::kSegment, kBase, 1 << 20);
    const int stack = log_->Stack({"main (a.cc:1)"});
    for (int i = 0; i < count; ++i)
      log_->Alloc(Layer::kBlock, kBase + i * kApart, kBytes, {.stack = stack});
  }
  void Held(int block, HolderKind kind, const std::vector<std::string>& lines) {
    log_->Event(Op::kHeld, Layer::kUnspecified, kBase + block * kApart, kBytes,
                log_->String(absl::StrJoin(lines, "\n")),
                {.aux0 = static_cast<std::uint64_t>(kind)});
  }
  void EndLook() { log_->Event(Op::kHolders, Layer::kUnspecified, 0, 0, 0, {.device = -1}); }
  void Load() {
    session_ = LoadLog(*log_);
    blocks_.clear();
    for (std::uint32_t i = 0; i < session_->records().size(); ++i)
      if (session_->record(AllocationId(i)).layer == Layer::kBlock)
        blocks_.push_back(AllocationId(i));
    tree_ = TreeOf(Holders(*session_), blocks_);
  }
  // "text: blocks", children indented; of an end also its kind.
  std::vector<std::string> Print(int at = 0, int depth = 0) const {
    if (tree_.empty()) return {};
    const HolderTree::Node& node = tree_.nodes[static_cast<std::size_t>(at)];
    EXPECT_EQ(node.bytes, node.blocks * kBytes);
    std::vector<std::string> lines = {absl::StrCat(
        std::string(static_cast<std::size_t>(depth), ' '), node.text, node.is_end() ? " = " : "",
        node.is_end() ? std::string(HolderKindName(node.kind)) : "", ": ", node.blocks)};
    for (const int child : node.children) {
      EXPECT_EQ(tree_.nodes[static_cast<std::size_t>(child)].parent, at);
      for (std::string& line : Print(child, depth + 1)) lines.push_back(std::move(line));
    }
    return lines;
  }

  std::unique_ptr<LogBuilder> log_ = std::make_unique<LogBuilder>();
  std::shared_ptr<const Session> session_;
  std::vector<AllocationId> blocks_;
  HolderTree tree_;
};

TEST_F(HolderTreeTest, WaysWithTheSameObjectsNextToTheMemoryShareThem) {
  Blocks(3);
  Held(0, HolderKind::kPython, {"list `m.p` (global `m`)", "global `m`", "M `m`", "list `m.p`"});
  Held(0, HolderKind::kPython, {"list `m.p` (local `t`)", "local `t`", "T `t`", "list `m.p`"});
  Held(1, HolderKind::kPython, {"list `m.p` (global `m`)", "global `m`", "M `m`", "list `m.p`"});
  Held(2, HolderKind::kCycle, {"loop", "cycle", "A `a`"});
  EndLook();
  Load();
  // Block 0 is held in two ways through the list, and is one block of it.
  EXPECT_THAT(Print(), ElementsAre(": 3", " list `m.p`: 2", "  M `m`: 2",
                                   "   global `m` = python: 2", "  T `t`: 1",
                                   "   local `t` = python: 1", " A `a`: 1", "  cycle = cycle: 1"));
  EXPECT_THAT(tree_.PathsBelow(tree_.nodes[0].children[0], 9),
              ElementsAre("list `m.p` (global `m`)", "list `m.p` (local `t`)"));
  EXPECT_THAT(tree_.PathsBelow(0, 1), ElementsAre("list `m.p` (global `m`)"));
}

TEST_F(HolderTreeTest, WithoutAChainTheEndSaysTheWholeLine) {
  Blocks(1);
  Held(0, HolderKind::kPython, {"`x` (global `x`)", "global `x`"});
  Held(0, HolderKind::kCpp, {"native"});
  EndLook();
  Load();
  EXPECT_THAT(Print(), ElementsAre(": 1", " `x` (global `x`) = python: 1", " native = c++: 1"));
}

TEST_F(HolderTreeTest, WaysThatDifferOnlyInTheirLineAreOneEnd) {
  Blocks(2);
  Held(0, HolderKind::kPython, {"a", "global `m`", "M `m`"});
  Held(1, HolderKind::kPython, {"b", "global `m`", "M `m`"});
  Held(1, HolderKind::kAutograd, {"b", "global `m`", "M `m`"});
  EndLook();
  Load();
  EXPECT_THAT(Print(), ElementsAre(": 2", " M `m`: 2", "  global `m` = python: 2",
                                   "  global `m` = autograd: 1"));
  EXPECT_THAT(tree_.PathsBelow(0, 9), ElementsAre("a", "b"));
}

TEST_F(HolderTreeTest, OfALinkedListTheEndsAreShown) {
  Blocks(1);
  std::vector<std::string> lines = {"path", "root"};
  for (int i = 0; i < 5000; ++i) lines.push_back(absl::StrCat("n", i));
  Held(0, HolderKind::kPython, lines);
  EndLook();
  Load();
  const std::vector<std::string> rows = Print();
  ASSERT_EQ(rows.size(), 2 + 2 * kHolderEnds + 1);
  EXPECT_EQ(rows[1], " n4999: 1");
  EXPECT_EQ(rows[kHolderEnds + 1], std::string(kHolderEnds + 1, ' ') + "… 4976 more objects: 1");
  EXPECT_EQ(rows[2 * kHolderEnds + 1], std::string(2 * kHolderEnds + 1, ' ') + "n0: 1");
}

TEST_F(HolderTreeTest, WhatNobodyHoldsHasNoTree) {
  Blocks(1);
  Load();
  EXPECT_THAT(Print(), IsEmpty());
  EndLook();
  Load();
  EXPECT_THAT(Print(), IsEmpty());
}

TEST_F(HolderTreeTest, LeaksHaveIt) {
  Blocks(1);
  Held(0, HolderKind::kPython, {"list", "root", "M `m`"});
  EndLook();
  std::size_t with = 0;
  for (const Leak& leak : FindLeaks(*LoadLog(*log_)).live_at_exit)
    with += leak.held_by.empty() ? 0 : leak.held_by.nodes.size();
  EXPECT_EQ(with, 3u);
}

TEST_F(HolderTreeTest, WhatRisesHasItToo) {
  Blocks(0);
  const int stack = log_->Stack({"main (a.cc:1)"});
  for (int step = 0; step < 40; ++step) {
    log_->Step(static_cast<std::uint64_t>(step));
    log_->Alloc(Layer::kBlock, kBase + step * kApart, kBytes, {.stack = stack});
    Held(step, HolderKind::kPython, {"list", "root", "M `m`"});
    if (step == 20) log_->Free(Layer::kBlock, kBase);  // it lived for too long to judge this run
  }
  EndLook();
  const LeakReport report = FindLeaks(*LoadLog(*log_));
  ASSERT_EQ(report.rising.size(), 1u) << report.verdict;
  EXPECT_EQ(report.rising[0].held_by.nodes.size(), 3u);
  EXPECT_EQ(report.rising[0].holders.size(), 1u);
}

TEST_F(HolderTreeTest, CountsLooksDuringALife) {
  EXPECT_FALSE(Holders(*LoadLog(*log_)).any());
  Blocks(1);  // sees three looks
  EndLook();
  log_->Alloc(Layer::kBlock, kBase + 5 * kApart, kBytes);  // two
  EndLook();
  log_->Alloc(Layer::kBlock, kBase + 6 * kApart, kBytes);
  log_->Free(Layer::kBlock, kBase + 6 * kApart);  // none
  EndLook();
  log_->Alloc(Layer::kBlock, kBase + 7 * kApart, kBytes);  // none
  Load();
  const Holders holders(*session_);
  EXPECT_TRUE(holders.any());
  std::vector<std::size_t> looks;
  for (const AllocationId id : blocks_) looks.push_back(holders.LooksDuring(id));
  EXPECT_THAT(looks, ElementsAre(3, 2, 0, 0));
}

// Every way of every block is walked; each place of the tree is the set of blocks that pass it.
TEST_F(HolderTreeTest, AsWalkedFromEachBlock) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    std::mt19937 random(seed);
    const auto upto = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    log_ = std::make_unique<LogBuilder>();
    Blocks(12);
    std::map<std::string, std::set<int>> passed;  // by the texts from the memory on
    for (int block = 0; block < 12; ++block) {
      for (int holder = upto(4); holder > 0; --holder) {
        std::vector<std::string> chain;
        for (int i = 1 + upto(3); i > 0; --i) chain.push_back(absl::StrCat("o", upto(2)));
        std::vector<std::string> lines = {"p", absl::StrCat("r", upto(2))};
        lines.insert(lines.end(), chain.rbegin(), chain.rend());
        Held(block, HolderKind::kPython, lines);
        std::string way;
        passed[way].insert(block);
        for (const std::string& object : chain) passed[way += "/" + object].insert(block);
        passed[way + "/" + lines[1]].insert(block);
      }
    }
    EndLook();
    Load();
    std::map<std::string, std::size_t> expected, found;
    for (const auto& [way, blocks] : passed) expected[way] = blocks.size();
    for (HolderTree::Node& node : tree_.nodes) {
      std::string way;
      for (const HolderTree::Node* at = &node; at->parent >= 0;
           at = &tree_.nodes[static_cast<std::size_t>(at->parent)])
        way = "/" + at->text + way;
      EXPECT_TRUE(found.emplace(way, node.blocks).second) << way;
      for (std::size_t i = 1; i < node.children.size(); ++i)
        EXPECT_GE(tree_.nodes[static_cast<std::size_t>(node.children[i - 1])].bytes,
                  tree_.nodes[static_cast<std::size_t>(node.children[i])].bytes);
    }
    EXPECT_EQ(found, expected) << seed;
  }
}

}  // namespace
}  // namespace memprof::analysis
