// Merges the chains of holders, the object next to the memory first.
#include "analysis/leaks/holder_tree.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"

namespace memprof::analysis {
namespace {

using Node = HolderTree::Node;

// The objects from the memory's side.
std::vector<std::string> FromMemory(const Holder& holder) {
  const std::vector<std::string>& chain = holder.chain;
  std::vector<std::string> texts(chain.rbegin(), chain.rend());
  if (texts.size() <= 2 * kHolderEnds + 1) return texts;
  const std::size_t left_out = texts.size() - 2 * kHolderEnds;
  const auto begin = texts.begin() + kHolderEnds;
  texts.erase(begin, begin + static_cast<std::ptrdiff_t>(left_out));
  texts.insert(texts.begin() + kHolderEnds, absl::StrCat("… ", left_out, " more objects"));
  return texts;
}

class TreeBuilder {
 public:
  TreeBuilder(const Holders& holders, EventId until) : holders_(holders), until_(until) {
    nodes_.emplace_back();
  }

  void Add(AllocationId id) {
    std::vector<int> through;
    for (const Holders::Told& told : holders_.ToldOf(id, until_)) {
      const std::vector<int>& way = WayOf(told);
      through.insert(through.end(), way.begin(), way.end());
    }
    std::sort(through.begin(), through.end());
    through.erase(std::unique(through.begin(), through.end()), through.end());
    for (const int node : through) {
      nodes_[static_cast<std::size_t>(node)].bytes += holders_.session().record(id).bytes;
      ++nodes_[static_cast<std::size_t>(node)].blocks;
    }
  }

  HolderTree Take() {
    if (nodes_.size() == 1) return {};
    for (Node& node : nodes_)
      std::stable_sort(node.children.begin(), node.children.end(), [this](int a, int b) {
        return nodes_[static_cast<std::size_t>(a)].bytes >
               nodes_[static_cast<std::size_t>(b)].bytes;
      });
    return {std::move(nodes_)};
  }

 private:
  // The nodes from the memory to the end of what was told.
  const std::vector<int>& WayOf(const Holders::Told& told) {
    const auto [known, fresh] = ways_.try_emplace(told);
    std::vector<int>& way = known->second;
    if (!fresh) return way;
    const Holder holder = holders_.Words(told);
    way.push_back(0);
    for (const std::string& text : FromMemory(holder)) way.push_back(Child(way.back(), text, -1));
    // Without objects between, the line says more than the root.
    const bool line = holder.chain.empty() || holder.root.empty();
    const int end =
        Child(way.back(), line ? holder.path : holder.root, static_cast<int>(holder.kind));
    Node& node = nodes_[static_cast<std::size_t>(end)];
    node.kind = holder.kind;
    if (std::find(node.paths.begin(), node.paths.end(), holder.path) == node.paths.end())
      node.paths.push_back(holder.path);
    way.push_back(end);
    return way;
  }

  // `kind` -1: no end.
  int Child(int parent, const std::string& text, int kind) {
    const auto [child, fresh] =
        children_.try_emplace({parent, kind, text}, static_cast<int>(nodes_.size()));
    if (fresh) {
      nodes_[static_cast<std::size_t>(parent)].children.push_back(child->second);
      nodes_.emplace_back();
      nodes_.back().text = text;
      nodes_.back().parent = parent;
    }
    return child->second;
  }

  const Holders& holders_;
  EventId until_;
  std::vector<Node> nodes_;
  std::map<Holders::Told, std::vector<int>> ways_;
  std::map<std::tuple<int, int, std::string>, int> children_;  // parent, kind, text
};

}  // namespace

std::vector<std::string> HolderTree::PathsBelow(int node, std::size_t most) const {
  std::vector<std::string> paths;
  std::set<std::string_view> known;
  std::vector<int> open = {node};
  while (!open.empty()) {
    const Node& next = nodes[static_cast<std::size_t>(open.back())];
    open.pop_back();
    for (const std::string& path : next.paths) {
      if (paths.size() == most) return paths;
      if (known.insert(path).second) paths.push_back(path);
    }
    open.insert(open.end(), next.children.rbegin(), next.children.rend());
  }
  return paths;
}

HolderTree TreeOf(const Holders& holders, std::span<const AllocationId> ids, EventId until) {
  TreeBuilder builder(holders, until);
  for (const AllocationId id : ids) builder.Add(id);
  return builder.Take();
}

}  // namespace memprof::analysis
