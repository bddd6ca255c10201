// Trees opened node by node, callers and callees: against sums over all stacks, on random stacks
// with much recursion.
#include "analysis/peak/call_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/analysis/peak/call_tree_fixture.h"

namespace memprof::analysis {
namespace {

using testing::Allocate;
using testing::LoadLog;
using testing::LogBuilder;
using testing::Made;
using testing::Make;
using testing::Path;
using testing::PlainStack;

Path PathOf(const CallTree& tree, const CallTree::Node& node, const Path& parent) {
  Path path = parent;
  path.push_back(tree.stacks().frame(node.frame).function);
  return path;
}

// All nodes, opened one by one, against sums by path.
void ExpectTree(const CallTree& tree, bool by_count, const std::vector<PlainStack>& plain) {
  std::map<Path, std::pair<CallCost, CallCost>> want, have;
  for (const PlainStack& stack : plain) {
    Path path = stack.path;
    if (tree.bottom_up()) std::reverse(path.begin(), path.end());
    for (std::size_t length = 1; length <= path.size(); ++length)
      want[Path(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(length))].first +=
          stack.cost;
    want[path].second += stack.cost;
  }
  std::vector<std::pair<CallTree::Node, Path>> todo = {{tree.Root(), {}}};
  while (!todo.empty()) {
    const auto [node, path] = todo.back();
    todo.pop_back();
    const std::vector<CallTree::Node> children = tree.Children(node, by_count);
    EXPECT_EQ(tree.HasChildren(node), !children.empty());
    std::uint64_t last = ~std::uint64_t{0};
    for (const CallTree::Node& child : children) {
      EXPECT_LE(child.inclusive.value(by_count), last) << "costliest first";
      last = child.inclusive.value(by_count);
      const Path at = PathOf(tree, child, path);
      EXPECT_TRUE(have.try_emplace(at, child.inclusive, child.self).second) << "a function twice";
      todo.push_back({child, at});
    }
  }
  EXPECT_EQ(have, want);
}

TEST(CallTreeTest, NodesAreSumsByPath) {
  for (const std::uint32_t seed : {7u, 8u}) {
    const Made made = Make(seed);
    ASSERT_NE(made.stacks, nullptr);
    for (const bool bottom_up : {false, true})
      for (const bool by_count : {false, true})
        ExpectTree(CallTree(made.stacks, bottom_up), by_count, made.plain);
  }
}

TEST(CallTreeTest, KnowsTheCostliestStackOfANode) {
  const Made made = Make(9);
  ASSERT_NE(made.stacks, nullptr);
  const CallTree tree(made.stacks, false);
  const FlameTree flame = FlattenTree(tree, false);
  EXPECT_EQ(flame.nodes[0].stack, made.stacks->site(0)) << "sites come costliest first";
  for (const CallTree::Node& node : tree.Children(tree.Root(), false)) {
    const StackId best = tree.Costliest(node);
    std::uint64_t most = 0, of_best = 0;
    for (std::uint32_t place = node.begin; place < node.end; ++place) {
      const std::uint32_t row = tree.stack(place);
      most = std::max(most, made.stacks->cost(row).bytes);
      if (made.stacks->site(row) == best) of_best = made.stacks->cost(row).bytes;
    }
    EXPECT_EQ(of_best, most);
    const auto path = tree.stacks().path(node.row);
    EXPECT_EQ(node.frame, path.front()) << "with its own line";
    const std::string& function = tree.stacks().frame(node.frame).function;
    const auto same = std::find_if(flame.nodes.begin() + 1, flame.nodes.end(), [&](const auto& n) {
      return n.parent == 0 && n.function == function;
    });
    ASSERT_NE(same, flame.nodes.end());
    EXPECT_EQ(same->stack, best);
  }
  const std::uint32_t function = made.stacks->FunctionOf(made.stacks->path(0).front());
  EXPECT_EQ(made.stacks->CostliestThrough(function, false), made.stacks->site(0));
}

// The expected result of FlattenTree: nodes of the whole tree by their paths, computed from the
// shares alone.
std::map<Path, std::uint64_t> Drawn(const FlameTree& whole, double least_share, const Path& zoom) {
  std::map<Path, std::uint64_t> drawn;
  std::vector<Path> paths(whole.nodes.size());
  std::vector<double> least(whole.nodes.size(), -1);  // -1: not drawn
  least[0] = least_share * static_cast<double>(whole.nodes[0].bytes);
  for (std::size_t i = 1; i < whole.nodes.size(); ++i) {
    const auto parent = static_cast<std::size_t>(whole.nodes[i].parent);
    paths[i] = paths[parent];
    paths[i].push_back(whole.nodes[i].function);
    const auto bytes = static_cast<double>(whole.nodes[i].bytes);
    const bool on_zoom = paths[i].size() <= zoom.size() &&
                         std::equal(paths[i].begin(), paths[i].end(), zoom.begin());
    if (least[parent] < 0 || (!on_zoom && bytes < least[parent])) continue;
    least[i] = on_zoom ? least_share * bytes : least[parent];
    drawn[paths[i]] = whole.nodes[i].bytes;
  }
  return drawn;
}

TEST(CallTreeTest, WhatIsTooSmallToSeeIsLeftOutUntilOneZoomsToIt) {
  const Made made = Make(11);
  ASSERT_NE(made.stacks, nullptr);
  const CallTree tree(made.stacks, false);
  const FlameTree whole = FlattenTree(tree, false);
  EXPECT_TRUE(whole.whole);
  std::size_t fewest = whole.nodes.size();
  for (const Path& zoom : {Path{}, Path{"a"}, Path{"b", "c"}, Path{"c", "c", "a"}, Path{"gone"}}) {
    const FlameTree cut = FlattenTree(tree, false, 0.05, zoom);
    EXPECT_FALSE(cut.whole);
    std::map<Path, std::uint64_t> have;
    for (std::size_t i = 1; i < cut.nodes.size(); ++i) {
      Path path;
      for (auto n = static_cast<int>(i); n > 0; n = cut.nodes[static_cast<std::size_t>(n)].parent)
        path.insert(path.begin(), cut.nodes[static_cast<std::size_t>(n)].function);
      have[path] = cut.nodes[i].bytes;
    }
    EXPECT_EQ(have, Drawn(whole, 0.05, zoom));
    fewest = std::min(fewest, cut.nodes.size());
  }
  EXPECT_LT(fewest, whole.nodes.size() / 4);
}

TEST(CallTreeTest, FromTheSiteOutwardLeavesLibrariesOut) {
  LogBuilder log;
  const int stack = log.Stack({"main (train.cc:1)", "Train (train.cc:9)", "cudaMalloc (cuda.h:2)"});
  Allocate(log, stack, 100);
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  Symbols symbols(session);
  const std::vector<Site> sites = FindSites(*session, {});
  const CallStacks cut(*session, symbols, sites, CallStacks::Depth::kFromSite);
  Path functions;
  for (const std::uint32_t frame : cut.path(0)) functions.push_back(cut.frame(frame).function);
  Path want;
  for (const SourceFrame& frame : symbols.SiteStack(sites[0].stack))
    want.insert(want.begin(), frame.function);
  EXPECT_EQ(functions, want);
  EXPECT_EQ(cut.total(), (CallCost{100, 1}));
}

// A thread of a framework has no line of the program: not a tower of its frames.
TEST(CallTreeTest, AStackOfLibrariesAloneIsItsCallSite) {
  LogBuilder log;
  Allocate(log,
           log.Stack({"start_thread (libc.so.6+0x1)", "c10::Run (libtorch_cpu.so+0x2)",
                      "c10::Malloc (libc10_cuda.so+0x3)"}),
           100);
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  Symbols symbols(session);
  const std::vector<Site> sites = FindSites(*session, {});
  const CallStacks cut(*session, symbols, sites, CallStacks::Depth::kFromSite);
  ASSERT_EQ(cut.path(0).size(), 1u);
  EXPECT_EQ(cut.frame(cut.path(0)[0]).function, symbols.Site(sites[0].stack).function);
}

TEST(CallTreeTest, NothingIsATreeOfNothing) {
  const auto session = LoadLog(LogBuilder());
  ASSERT_NE(session, nullptr);
  Symbols symbols(session);
  const auto stacks =
      std::make_shared<const CallStacks>(*session, symbols, std::span<const Site>());
  const CallTree tree(stacks, true);
  EXPECT_FALSE(tree.HasChildren(tree.Root()));
  EXPECT_TRUE(tree.Children(tree.Root(), false).empty());
  EXPECT_TRUE(stacks->Functions().empty());
  EXPECT_EQ(FlattenTree(tree, false).nodes.size(), 1u);
}

}  // namespace
}  // namespace memprof::analysis
