// Whole trees of frames for flame graphs, top-down and bottom-up.
#include <memory>
#include <utility>
#include <vector>

#include "analysis/call_tree.h"
#include "analysis/sites.h"

namespace memprof::analysis {
namespace {

FlameNode MakeNode(const CallTree& tree, const CallTree::Node& from, int parent) {
  FlameNode node;
  if (from.depth == 0) {
    node.function = "all";
  } else {
    const SourceFrame& frame = tree.stacks().frame(from.frame);
    node.function = frame.function;
    node.file = frame.file;
    node.line = frame.line;
    node.module = frame.module;
    node.python = frame.python;
  }
  node.bytes = from.inclusive.bytes;
  node.blocks = from.inclusive.blocks;
  node.self_bytes = from.self.bytes;
  node.parent = parent;
  return node;
}

// Gives every node its costliest stack: of those that end there, and of its children.
void FindStacks(const CallTree& tree, const std::vector<CallTree::Node>& ranges, bool by_count,
                FlameTree* flame) {
  std::vector<std::uint64_t> most(ranges.size(), 0);
  for (std::size_t i = ranges.size(); i-- > 0;) {
    FlameNode& node = flame->nodes[i];
    for (std::uint32_t place = ranges[i].begin; place < ranges[i].end; ++place) {
      const std::uint32_t stack = tree.stack(place);
      // What ends here comes first.
      if (tree.stacks().path(stack).size() != ranges[i].depth) break;
      const std::uint64_t value = tree.stacks().cost(stack).value(by_count);
      if (value < most[i] || (value == most[i] && node.stack.valid())) continue;
      node.stack = tree.stacks().site(stack);
      most[i] = value;
    }
    if (node.parent < 0) continue;
    const auto parent = static_cast<std::size_t>(node.parent);
    if (most[i] < most[parent]) continue;
    most[parent] = most[i];
    flame->nodes[parent].stack = node.stack;
  }
}

}  // namespace

FlameTree FlattenTree(const CallTree& tree, bool by_count) {
  FlameTree flame;
  std::vector<CallTree::Node> ranges;
  std::vector<std::pair<CallTree::Node, int>> todo = {{tree.Root(), -1}};
  while (!todo.empty()) {
    const auto [node, parent] = todo.back();
    todo.pop_back();
    const int index = static_cast<int>(flame.nodes.size());
    flame.nodes.push_back(MakeNode(tree, node, parent));
    ranges.push_back(node);
    if (parent >= 0) flame.nodes[static_cast<std::size_t>(parent)].children.push_back(index);
    const std::vector<CallTree::Node> children = tree.Children(node, by_count);
    for (auto child = children.rbegin(); child != children.rend(); ++child)
      todo.push_back({*child, index});
  }
  FindStacks(tree, ranges, by_count, &flame);
  return flame;
}

FlameTree BuildFlame(const Session& session, Symbols& symbols, const SiteQuery& query,
                     bool bottom_up) {
  const auto stacks =
      std::make_shared<const CallStacks>(session, symbols, FindSites(session, query));
  return FlattenTree(CallTree(stacks, bottom_up), query.metric == Metric::kAllocationCount);
}

}  // namespace memprof::analysis
