// Ways from roots to blocks, against a slow search.
#include "libmemprof/src/recording/internal/holder_graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <tuple>
#include <vector>

namespace memprof::recorder {
namespace {

constexpr std::uint32_t kNone = HolderGraph::kNone;

TEST(HolderGraphTest, TheNodesOfATreeHaveOneWay) {
  HolderGraph graph;
  std::vector<std::uint32_t> nodes;
  for (std::uint64_t i = 0; i < 1000; ++i) nodes.push_back(graph.NodeOf(0x1000 + i * 64, 56));
  for (std::uint32_t i = 1; i < 1000; ++i) {
    graph.AddEdge(nodes[(i - 1) / 2], nodes[i], 0);
    graph.AddEdge(nodes[i], nodes[(i - 1) / 2], 0);
  }
  graph.AddRoot(nodes[0], 7, 0);    // its top
  graph.AddRoot(nodes[511], 8, 0);  // its first
  graph.AddRoot(nodes[999], 9, 0);  // its last
  ASSERT_TRUE(graph.Resolve());
  for (const std::uint32_t node : nodes) {
    EXPECT_EQ(graph.node(node).root, 7u);
    EXPECT_EQ(graph.node(node).length, 1);
  }
  EXPECT_TRUE(graph.IsRun(56));
  EXPECT_FALSE(graph.IsRun(64));
}

TEST(HolderGraphTest, AFewBlocksThatAreALittleTooLargeAreAlike) {
  HolderGraph graph;
  for (std::uint64_t i = 0; i < 10; ++i) graph.NodeOf(0x1000 + i * 64, i == 4 ? 40 : 24);
  for (std::uint32_t i = 1; i < 10; ++i) graph.AddEdge(i - 1, i, 0);
  graph.AddRoot(0, 1, 0);
  ASSERT_TRUE(graph.Resolve());
  EXPECT_EQ(graph.node(4).alike, 24u);
  EXPECT_EQ(graph.node(9).length, 1);
  EXPECT_EQ(graph.NodeOf(0x9000, 56), 10u);
  ASSERT_TRUE(graph.Resolve());
  EXPECT_EQ(graph.node(10).alike, 56u) << "no more blocks have the smaller size";
}

TEST(HolderGraphTest, WhatTheDriverHoldsHasNoWay) {
  HolderGraph graph;
  const std::uint32_t context = graph.NodeOf(0x1000, 100), entry = graph.NodeOf(0x2000, 50),
                      own = graph.NodeOf(0x3000, 50);
  graph.AddRoot(context, 0, 0);  // the program's handle of it
  graph.SetDrivers(context);
  graph.AddEdge(context, entry, 0);
  graph.AddRoot(own, 1, 1);
  ASSERT_TRUE(graph.Resolve());
  EXPECT_EQ(graph.node(context).root, kNone);
  EXPECT_EQ(graph.node(entry).root, kNone);
  EXPECT_EQ(graph.node(own).root, 1u);
}

TEST(HolderGraphTest, AnOwnerHasAPlaceBesideManyEntries) {
  HolderGraph graph;
  const std::uint32_t collection = graph.NodeOf(0x100, 64);
  std::vector<std::uint32_t> entries;
  for (std::uint64_t i = 0; i < 100; ++i) entries.push_back(graph.NodeOf(0x1000 + i * 64, 48));
  const auto first_new = static_cast<std::uint32_t>(graph.size());
  for (const std::uint32_t entry : entries) graph.AddEdge(entry, collection, first_new);
  const std::uint32_t owner = graph.NodeOf(0x9000, 32);
  graph.AddEdge(owner, collection, first_new);
  graph.AddRoot(owner, 3, 0);
  ASSERT_TRUE(graph.Resolve());
  EXPECT_EQ(graph.node(collection).root, 3u);
}

// The best (class, length, root) of each node, by improving until nothing changes.
TEST(HolderGraphTest, FindsTheWaysOfASlowSearch) {
  using Way = std::tuple<int, int, std::uint32_t>;
  const Way none{9, 0, kNone};
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    HolderGraph graph;
    const std::uint32_t count = 2 + random() % 30;
    std::vector<std::uint64_t> bytes;
    for (std::uint32_t i = 0; i < count; ++i) {
      bytes.push_back(24 + 48 * (random() % 3));
      ASSERT_EQ(graph.NodeOf(0x1000 * (i + 1), bytes[i]), i);
    }
    std::vector<Way> starts(count, none);
    std::vector<bool> drivers(count);
    for (std::uint32_t root = 0; root < 1 + random() % 4; ++root) {
      const std::uint32_t to = random() % count;
      const int of_class = static_cast<int>(random() % 3);
      graph.AddRoot(to, root, of_class);
      starts[to] = std::min(starts[to], Way{of_class, 1, root});
    }
    if (random() % 2 == 0) {
      const std::uint32_t node = random() % count;
      graph.SetDrivers(node);
      drivers[node] = true;
    }
    std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
    for (std::uint32_t i = 0; i < count * 2; ++i) {
      const std::uint32_t from = random() % count, to = random() % count;
      const auto into = std::count_if(edges.begin(), edges.end(),
                                      [&](const auto& edge) { return edge.second == to; });
      if (from == to || into == 8) continue;  // the bound of the graph
      edges.emplace_back(from, to);
      graph.AddEdge(from, to, 0);
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (const auto& [from, to] : edges)
        if (drivers[from] && !drivers[to]) drivers[to] = changed = true;
    }
    std::vector<Way> best = starts;
    for (std::uint32_t i = 0; i < count; ++i)
      if (drivers[i]) best[i] = none;
    for (bool changed = true; changed;) {
      changed = false;
      for (const auto& [from, to] : edges) {
        if (best[from] == none || drivers[to]) continue;
        auto [of_class, length, root] = best[from];
        const Way way{of_class, length + (bytes[from] != bytes[to]), root};
        if (way < best[to]) best[to] = way, changed = true;
      }
    }
    ASSERT_TRUE(graph.Resolve());
    ASSERT_TRUE(graph.Resolve()) << "again";
    for (std::uint32_t i = 0; i < count; ++i) {
      const HolderGraph::Node& node = graph.node(i);
      const Way found = node.root == kNone ? none : Way{node.of_class, node.length, node.root};
      EXPECT_EQ(found, best[i]) << "node " << i << ", seed " << seed;
      if (node.root == kNone || node.before == kNone) continue;
      EXPECT_TRUE(std::count(edges.begin(), edges.end(), std::pair{node.before, i}) > 0);
      EXPECT_EQ(graph.node(node.before).root, node.root);
    }
  }
}

}  // namespace
}  // namespace memprof::recorder
