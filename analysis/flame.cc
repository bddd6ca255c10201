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
  node.stack = tree.Costliest(from);
  return node;
}

}  // namespace

FlameTree FlattenTree(const CallTree& tree, bool by_count) {
  FlameTree flame;
  std::vector<std::pair<CallTree::Node, int>> todo = {{tree.Root(), -1}};
  while (!todo.empty()) {
    const auto [node, parent] = todo.back();
    todo.pop_back();
    const int index = static_cast<int>(flame.nodes.size());
    flame.nodes.push_back(MakeNode(tree, node, parent));
    if (parent >= 0) flame.nodes[static_cast<std::size_t>(parent)].children.push_back(index);
    const std::vector<CallTree::Node> children = tree.Children(node, by_count);
    for (auto child = children.rbegin(); child != children.rend(); ++child)
      todo.push_back({*child, index});
  }
  return flame;
}

FlameTree BuildFlame(const Session& session, Symbols& symbols, const SiteQuery& query,
                     bool bottom_up) {
  const auto stacks =
      std::make_shared<const CallStacks>(session, symbols, FindSites(session, query));
  return FlattenTree(CallTree(stacks, bottom_up), query.metric == Metric::kAllocationCount);
}

}  // namespace memprof::analysis
