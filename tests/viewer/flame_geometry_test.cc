// Boxes of flame graphs, and bars of surviving memory.
#include "viewer/geometry/flame_geometry.h"

#include <gtest/gtest.h>

#include "viewer/geometry/bars.h"

namespace memprof::viewer {
namespace {

using analysis::BirthStep;
using analysis::FlameNode;
using analysis::FlameTree;

int Add(FlameTree& tree, int parent, const char* function, std::uint64_t bytes,
        std::uint64_t blocks) {
  FlameNode node;
  node.function = function;
  node.bytes = bytes;
  node.blocks = blocks;
  node.parent = parent;
  tree.nodes.push_back(node);
  const int index = static_cast<int>(tree.nodes.size()) - 1;
  if (parent >= 0) tree.nodes[static_cast<std::size_t>(parent)].children.push_back(index);
  return index;
}

// all 100 → main 100 → {forward 70 → {attn 50, mlp 20}, backward 30}
FlameTree Sample() {
  FlameTree tree;
  const int root = Add(tree, -1, "all", 100, 10);
  const int main = Add(tree, root, "main", 100, 10);
  const int forward = Add(tree, main, "forward", 70, 2);
  Add(tree, forward, "attn", 50, 1);
  Add(tree, forward, "mlp", 20, 1);
  Add(tree, main, "backward", 30, 8);
  return tree;
}

TEST(FlameLayout, WidthsAreShares) {
  const FlameTree tree = Sample();
  const FlameLayout layout = LayOutFlame(tree, FlameValue::kBytes, 0, 1000, 20);
  ASSERT_EQ(layout.boxes.size(), 6u);
  EXPECT_EQ(layout.depths, 4);
  for (const FlameBox& box : layout.boxes) {
    EXPECT_DOUBLE_EQ(
        box.rect.width(),
        static_cast<double>(tree.nodes[static_cast<std::size_t>(box.node)].bytes) * 10);
    EXPECT_DOUBLE_EQ(box.rect.top(), box.depth * 20.0);
  }
  const FlameLayout counted = LayOutFlame(tree, FlameValue::kCount, 0, 1000, 20);
  EXPECT_DOUBLE_EQ(counted.boxes[2].rect.width(), 200) << "forward by number of blocks";
}

TEST(FlameLayout, ChildrenLieInTheirParents) {
  const FlameTree tree = Sample();
  const FlameLayout layout = LayOutFlame(tree, FlameValue::kBytes, 2, 900, 20);
  // Zoomed to forward: it and its ancestors have the full width.
  for (int i = 0; i < 3; ++i) {
    EXPECT_DOUBLE_EQ(layout.boxes[static_cast<std::size_t>(i)].rect.width(), 900);
  }
  ASSERT_EQ(layout.boxes.size(), 5u) << "backward is outside";
  EXPECT_NEAR(layout.boxes[3].rect.width(), 900 * 50 / 70.0, 1e-6);
  EXPECT_NEAR(layout.boxes[4].rect.left(), layout.boxes[3].rect.right(), 1e-6);
}

TEST(FlameLayout, LeavesOutWhatIsTooSmallToSee) {
  FlameTree tree;
  const int root = Add(tree, -1, "all", 1'000'000, 2);
  Add(tree, root, "big", 999'999, 1);
  const int small = Add(tree, root, "small", 1, 1);
  Add(tree, small, "below", 1, 1);
  EXPECT_EQ(LayOutFlame(tree, FlameValue::kBytes, 0, 1000, 20).boxes.size(), 2u);
  EXPECT_TRUE(LayOutFlame({}, FlameValue::kBytes, 0, 1000, 20).boxes.empty());
}

TEST(FlameHit, FindsWhatIsDrawn) {
  const FlameTree tree = Sample();
  const FlameLayout layout = LayOutFlame(tree, FlameValue::kBytes, 0, 1000, 20);
  for (const FlameBox& box : layout.boxes) {
    EXPECT_EQ(FlameHit(layout, box.rect.center(), 20), box.node);
  }
  EXPECT_EQ(FlameHit(layout, {950, 70}, 20), -1) << "right of the children of forward";
  EXPECT_EQ(FlameHit(layout, {10, 500}, 20), -1);
  EXPECT_EQ(FlameHit(layout, {10, -3}, 20), -1);
}

TEST(FlamePath, LeadsBackAlsoInAnotherTree) {
  const FlameTree tree = Sample();
  const QStringList path = FlamePath(tree, 4);
  EXPECT_EQ(path, QStringList(
                      {QStringLiteral("main"), QStringLiteral("forward"), QStringLiteral("mlp")}));
  EXPECT_EQ(FlameFind(tree, path), 4);
  EXPECT_EQ(FlameFind(tree, {}), 0);
  EXPECT_EQ(FlameFind(tree, {QStringLiteral("main"), QStringLiteral("gone")}), 1)
      << "as deep as the path exists";
  EXPECT_EQ(FlameFind({}, path), 0);
}

TEST(FlameSearch, CountsEveryByteOnce) {
  const FlameTree tree = Sample();
  const std::vector<bool> matches = FlameSearch(tree, QStringLiteral("A"));
  EXPECT_TRUE(matches[1]) << "main is always included";
  EXPECT_FALSE(matches[0]) << "the root is not a frame";
  EXPECT_EQ(FlameMatched(tree, matches, FlameValue::kBytes), 100u);
  EXPECT_EQ(FlameMatched(tree, FlameSearch(tree, QStringLiteral("ward")), FlameValue::kBytes),
            100u);
  EXPECT_EQ(FlameMatched(tree, FlameSearch(tree, QStringLiteral("mlp")), FlameValue::kBytes), 20u);
  EXPECT_EQ(FlameMatched(tree, FlameSearch(tree, QString()), FlameValue::kBytes), 0u);
}

TEST(SurvivorBars, OneForEachStep) {
  const std::vector<BirthStep> survivors = {{-1, 10, 1}, {0, 10, 1}, {3, 40, 4}};
  const std::vector<SurvivorBar> bars = LayOutSurvivors(survivors, 5, 2, {0, 0, 100, 80}, 4);
  ASSERT_EQ(bars.size(), 5u);
  EXPECT_EQ(bars[0].bytes, 20u) << "memory from before the first step counts there";
  EXPECT_DOUBLE_EQ(bars[3].rect.height(), 80) << "the highest bar fills the area";
  EXPECT_DOUBLE_EQ(bars[0].rect.height(), 40);
  EXPECT_DOUBLE_EQ(bars[0].rect.bottom(), 80);
  EXPECT_TRUE(bars[2].evidence);
  EXPECT_FALSE(bars[3].evidence) << "within the guard";
}

TEST(SurvivorBars, ManyStepsShareBars) {
  std::vector<BirthStep> survivors;
  for (int i = 0; i < 1000; ++i) survivors.push_back({i, 3, 1});
  const std::vector<SurvivorBar> bars = LayOutSurvivors(survivors, 1000, 0, {0, 0, 100, 50}, 5);
  ASSERT_LE(bars.size(), 20u);
  std::uint64_t sum = 0;
  for (const SurvivorBar& bar : bars) sum += bar.bytes;
  EXPECT_EQ(sum, 3000u);
  EXPECT_EQ(bars.back().last_step, 999);
  EXPECT_TRUE(LayOutSurvivors({}, 0, 0, {0, 0, 100, 50}, 5).empty());
}

}  // namespace
}  // namespace memprof::viewer
