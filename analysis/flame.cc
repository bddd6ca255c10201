// Trees of frames for flame graphs, top-down and bottom-up.
#include <algorithm>
#include <map>
#include <tuple>

#include "analysis/sites.h"

namespace memprof::analysis {
namespace {

// Deeper stacks only come from damaged logs; the outermost frames are dropped there.
constexpr std::size_t kMaxDepth = 4096;

// The tree while it grows: nodes in order of creation, children found by (function, module).
class Builder {
 public:
  Builder() {
    tree_.nodes.emplace_back();
    tree_.nodes[0].function = "all";
  }

  void Add(const std::vector<SourceFrame>& path, std::uint64_t bytes, std::uint64_t blocks) {
    int node = 0;
    Charge(node, bytes, blocks);
    for (const SourceFrame& frame : path) {
      node = Child(node, frame);
      Charge(node, bytes, blocks);
    }
    tree_.nodes[node].self_bytes += bytes;
  }

  // Children by cost, nodes in order of depth-first visit.
  FlameTree Finish(bool by_count) {
    const auto cost = [this, by_count](int i) {
      return by_count ? tree_.nodes[i].blocks : tree_.nodes[i].bytes;
    };
    FlameTree sorted;
    sorted.nodes.reserve(tree_.nodes.size());
    std::vector<std::pair<int, int>> todo = {{0, -1}};  // old index, new parent
    while (!todo.empty()) {
      const auto [old, parent] = todo.back();
      todo.pop_back();
      const int index = static_cast<int>(sorted.nodes.size());
      std::vector<int> children = std::move(tree_.nodes[old].children);
      std::stable_sort(children.begin(), children.end(),
                       [&cost](int a, int b) { return cost(a) > cost(b); });
      sorted.nodes.push_back(std::move(tree_.nodes[old]));
      sorted.nodes.back().parent = parent;
      sorted.nodes.back().children.clear();
      if (parent >= 0) sorted.nodes[parent].children.push_back(index);
      for (auto it = children.rbegin(); it != children.rend(); ++it) todo.push_back({*it, index});
    }
    return sorted;
  }

 private:
  void Charge(int node, std::uint64_t bytes, std::uint64_t blocks) {
    tree_.nodes[node].bytes += bytes;
    tree_.nodes[node].blocks += blocks;
  }

  int Child(int parent, const SourceFrame& frame) {
    const auto [it, fresh] = index_.try_emplace({parent, frame.function, frame.module},
                                                static_cast<int>(tree_.nodes.size()));
    if (fresh) {
      FlameNode node;
      node.function = frame.function;
      node.file = frame.file;
      node.line = frame.line;
      node.module = frame.module;
      node.python = frame.python;
      node.parent = parent;
      tree_.nodes.push_back(std::move(node));
      tree_.nodes[parent].children.push_back(it->second);
    }
    return it->second;
  }

  FlameTree tree_;
  std::map<std::tuple<int, std::string, std::string>, int> index_;
};

// Inlined frames expanded, innermost first.
std::vector<SourceFrame> Path(const Session& session, Symbols& symbols, StackId stack) {
  std::vector<SourceFrame> path;
  std::size_t depth = 0;
  for (StackId node = stack; node.valid() && depth < kMaxDepth;
       node = session.StackParent(node), ++depth) {
    for (const SourceFrame& frame : symbols.Resolve(session.StackFrame(node))) {
      path.push_back(frame);
    }
  }
  if (path.empty()) {
    path.emplace_back();
    path.back().function = "(no call stack)";
  }
  return path;
}

}  // namespace

FlameTree BuildFlame(const Session& session, Symbols& symbols, const SiteQuery& query,
                     bool bottom_up) {
  Builder builder;
  for (const Site& site : FindSites(session, query)) {
    std::vector<SourceFrame> path = Path(session, symbols, site.stack);
    if (!bottom_up) std::reverse(path.begin(), path.end());
    builder.Add(path, site.bytes, site.blocks);
  }
  return builder.Finish(query.metric == Metric::kAllocationCount);
}

}  // namespace memprof::analysis
