// Whole trees of frames for flame graphs, top-down and bottom-up.
#include <algorithm>
#include <memory>
#include <vector>

#include "analysis/peak/call_tree.h"
#include "analysis/peak/sites.h"

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

FlameTree FlattenTree(const CallTree& tree, bool by_count, double least_share,
                      std::span<const std::string> zoom) {
  struct Todo {
    CallTree::Node node;
    int parent;
    double least;  // value of a child that is still drawn
    bool on_zoom;  // the functions of `zoom` lead here
  };
  const auto share_of = [&](const CallTree::Node& node) {
    return least_share * static_cast<double>(node.inclusive.value(by_count));
  };
  FlameTree flame;
  std::vector<Todo> todo = {{tree.Root(), -1, share_of(tree.Root()), true}};
  while (!todo.empty()) {
    const Todo at = todo.back();
    todo.pop_back();
    const int index = static_cast<int>(flame.nodes.size());
    flame.nodes.push_back(MakeNode(tree, at.node, at.parent));
    if (at.parent >= 0) flame.nodes[static_cast<std::size_t>(at.parent)].children.push_back(index);
    const std::vector<CallTree::Node> children = tree.Children(at.node, by_count);
    // The first of a name, as zooming finds it again.
    const bool leads_on = at.on_zoom && at.node.depth < zoom.size();
    const auto next = std::find_if(children.begin(), children.end(), [&](const auto& child) {
      return leads_on && tree.stacks().frame(child.frame).function == zoom[at.node.depth];
    });
    for (auto child = children.end(); child != children.begin();) {
      --child;
      const bool on_zoom = child == next;
      if (on_zoom) {
        todo.push_back({*child, index, share_of(*child), true});
      } else if (static_cast<double>(child->inclusive.value(by_count)) < at.least) {
        flame.whole = false;
      } else {
        todo.push_back({*child, index, at.least, false});
      }
    }
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
