// Flame trees: costs add up, and every path leads to its stacks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "analysis/peak/sites.h"
#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

using testing::LoadLog;
using testing::LogBuilder;
using testing::RandomLog;
using Path = std::vector<std::string>;

// Bytes by path of function names, computed from the sites alone; includes recursion and shared
// prefixes.
std::map<Path, std::uint64_t> PathCosts(const Session& session, Symbols& symbols,
                                        const SiteQuery& query, bool bottom_up) {
  std::map<Path, std::uint64_t> costs;
  for (const Site& site : FindSites(session, query)) {
    Path path;
    for (const SourceFrame& frame : symbols.ResolveStack(site.stack))
      path.push_back(frame.function);
    if (path.empty()) path.push_back("(no call stack)");
    if (!bottom_up) std::reverse(path.begin(), path.end());
    for (std::size_t length = 1; length <= path.size(); ++length) {
      costs[Path(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(length))] += site.bytes;
    }
  }
  return costs;
}

Path PathOf(const FlameTree& tree, int node) {
  Path path;
  for (; node > 0; node = tree.nodes[node].parent) path.push_back(tree.nodes[node].function);
  std::reverse(path.begin(), path.end());
  return path;
}

TEST(FlameTest, CostsAreThoseOfTheSites) {
  RandomLog log({.seed = 21, .operations = 900});
  const auto session = LoadLog(log.builder());
  ASSERT_NE(session, nullptr);
  Symbols symbols(session);
  for (const bool bottom_up : {false, true}) {
    const SiteQuery query{Metric::kAllocatedBytes, kForever, {}, ~0u, kNoDevice};
    const FlameTree tree = BuildFlame(*session, symbols, query, bottom_up);
    const auto costs = PathCosts(*session, symbols, query, bottom_up);
    ASSERT_EQ(tree.nodes.size(), costs.size() + 1);
    std::uint64_t self = 0;
    for (int i = 0; i < static_cast<int>(tree.nodes.size()); ++i) {
      const FlameNode& node = tree.nodes[i];
      self += node.self_bytes;
      std::uint64_t children = 0, last = ~std::uint64_t{0};
      for (const int child : node.children) {
        EXPECT_EQ(tree.nodes[child].parent, i);
        EXPECT_GT(child, i) << "depth-first order";
        EXPECT_LE(tree.nodes[child].bytes, last);
        last = tree.nodes[child].bytes;
        children += last;
      }
      EXPECT_EQ(node.bytes, node.self_bytes + children);
      if (i == 0) continue;
      EXPECT_EQ(node.bytes, costs.at(PathOf(tree, i)));
    }
    EXPECT_EQ(self, tree.nodes[0].bytes);
  }
}

TEST(FlameTest, BottomUpBeginsWithTheAllocatingFunction) {
  LogBuilder log;
  const int a = log.Stack({"main (m.cc:1)", "Load (l.cc:2)", "Take (t.cc:3)"});
  const int b = log.Stack({"main (m.cc:1)", "Train (l.cc:9)", "Take (t.cc:3)"});
  log.Alloc(Layer::kLinear, 0x1000, 10, {.stack = a});
  log.Alloc(Layer::kLinear, 0x2000, 20, {.stack = b});
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  Symbols symbols(session);
  const FlameTree up = BuildFlame(*session, symbols, {}, true);
  ASSERT_EQ(up.nodes[0].children.size(), 1u);
  const FlameNode& take = up.nodes[up.nodes[0].children[0]];
  EXPECT_EQ(take.function, "Take");
  EXPECT_EQ(take.bytes, 30u);
  EXPECT_EQ(take.blocks, 2u);
  ASSERT_EQ(take.children.size(), 2u);
  EXPECT_EQ(up.nodes[take.children[0]].function, "Train");
  const FlameTree down = BuildFlame(*session, symbols, {}, false);
  EXPECT_EQ(down.nodes[1].function, "main");
  EXPECT_EQ(down.nodes[1].bytes, 30u);
}

TEST(FlameTest, CountsOrderByCount) {
  LogBuilder log;
  const int few = log.Stack({"Big (a.cc:1)"}), many = log.Stack({"Small (a.cc:2)"});
  log.Alloc(Layer::kLinear, 0x1000, 1 << 20, {.stack = few});
  log.Alloc(Layer::kLinear, 0x900000, 1, {.stack = many});
  log.Alloc(Layer::kLinear, 0x910000, 1, {.stack = many});
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  Symbols symbols(session);
  SiteQuery query;
  query.metric = Metric::kAllocationCount;
  EXPECT_EQ(BuildFlame(*session, symbols, query).nodes[1].function, "Small");
  query.metric = Metric::kAllocatedBytes;
  EXPECT_EQ(BuildFlame(*session, symbols, query).nodes[1].function, "Big");
}

}  // namespace
}  // namespace memprof::analysis
