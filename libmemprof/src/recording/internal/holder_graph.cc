// Breadth first from the roots.
#include "libmemprof/src/recording/internal/holder_graph.h"

#include <algorithm>

namespace memprof::recorder {

std::uint32_t HolderGraph::NodeOf(std::uint64_t begin, std::uint64_t bytes) {
  const std::uint64_t hash = Entry{begin, 0}.hash();
  if (const Entry* entry = index_.Find(hash, [&](const Entry& one) { return one.begin == begin; }))
    return entry->node;
  if (nodes_.size() == kMostNodes) return kNone;
  const auto node = static_cast<std::uint32_t>(nodes_.size());
  if (index_.Insert({begin, node}) == nullptr) return kNone;
  return nodes_.Append({begin, bytes, bytes, kNone, kNone, 0, 0, false, 0, 0, {}}) ? node : kNone;
}

void HolderGraph::AddRoot(std::uint32_t node, std::uint32_t root, int of_class) {
  std::uint8_t& known = nodes_[node].roots[of_class];
  if (known == kEachClass) return;
  ++known;
  roots_.Append({root, node, static_cast<std::uint8_t>(of_class)});
}

void HolderGraph::AddEdge(std::uint32_t from, std::uint32_t to, std::uint32_t first_new) {
  Node& node = nodes_[to];
  std::uint8_t& known = from < first_new ? node.from_old : node.from_new;
  if (from == to || known == kEdges) return;
  ++known;
  edges_.Append({from, to});
}

HolderGraph::Run* HolderGraph::FindRun(std::uint64_t bytes) {
  return runs_.Find(Run{bytes, 0}.hash(), [&](const Run& one) { return one.bytes == bytes; });
}

void HolderGraph::FindAlike() {
  constexpr std::uint64_t kTooLarge = 16;
  const auto find = [&](std::uint64_t bytes) {
    return sizes_.Find(Run{bytes, 0}.hash(), [&](const Run& one) { return one.bytes == bytes; });
  };
  sizes_.Clear();
  for (const Node& node : nodes_) {
    if (Run* const size = find(node.bytes))
      ++size->count;
    else
      sizes_.Insert({node.bytes, 1});
  }
  for (Node& node : nodes_) {
    const Run *own = find(node.bytes), *smaller = find(node.bytes - kTooLarge);
    const bool is_smaller = own != nullptr && smaller != nullptr && smaller->count > own->count;
    node.alike = is_smaller ? smaller->bytes : node.bytes;
  }
}

bool HolderGraph::IndexEdges() {
  std::sort(edges_.begin(), edges_.end(), [](const Edge& a, const Edge& b) {
    return a.from != b.from ? a.from < b.from : a.to < b.to;
  });
  first_edge_.Clear();
  std::uint32_t edge = 0;
  for (std::uint32_t node = 0; node <= nodes_.size(); ++node) {
    while (edge < edges_.size() && edges_[edge].from < node) ++edge;
    if (!first_edge_.Append(edge)) return false;
  }
  return true;
}

bool HolderGraph::SpreadDrivers() {
  todo_.Clear();
  for (std::uint32_t node = 0; node < nodes_.size(); ++node)
    if (nodes_[node].drivers && !todo_.Append(node)) return false;
  while (!todo_.empty()) {
    const std::uint32_t node = todo_[todo_.size() - 1];
    todo_.Truncate(todo_.size() - 1);
    for (std::uint32_t i = first_edge_[node]; i < first_edge_[node + 1]; ++i) {
      Node& held = nodes_[edges_[i].to];
      if (held.drivers) continue;
      held.drivers = true;
      if (!todo_.Append(edges_[i].to)) return false;
    }
  }
  return true;
}

void HolderGraph::Settle(const Start& start, std::uint16_t length, int of_class) {
  Node& node = nodes_[start.node];
  node.root = start.root;
  node.before = start.before;
  node.length = length;
  node.of_class = static_cast<std::uint8_t>(of_class);
  todo_.Append(start.node);
}

// All ways of one length before longer ones, those of lower roots first.
bool HolderGraph::ResolveClass(int of_class) {
  const auto is_open = [&](std::uint32_t node) {
    return nodes_[node].root == kNone && !nodes_[node].drivers;
  };
  starts_.Clear();
  for (const RootEdge& edge : roots_)
    if (edge.of_class == of_class) starts_.Append({edge.root, edge.to, kNone});
  for (std::uint16_t length = 1; !starts_.empty(); ++length) {
    std::sort(starts_.begin(), starts_.end(), [](const Start& a, const Start& b) {
      return a.root != b.root ? a.root < b.root : a.node < b.node;
    });
    next_.Clear();
    for (const Start& start : starts_) {
      if (!is_open(start.node)) continue;
      todo_.Clear();
      Settle(start, length, of_class);
      for (std::size_t done = 0; done < todo_.size(); ++done) {  // the run that begins here
        const std::uint32_t node = todo_[done];
        for (std::uint32_t i = first_edge_[node]; i < first_edge_[node + 1]; ++i) {
          const Start further{start.root, edges_[i].to, node};
          if (!is_open(further.node)) continue;
          if (nodes_[further.node].alike != nodes_[node].alike) {
            next_.Append(further);
            continue;
          }
          Settle(further, length, of_class);
          const Run run{nodes_[node].alike, 1};
          if (FindRun(run.bytes) == nullptr) runs_.Insert(run);
        }
      }
    }
    starts_.Clear();
    starts_.Append(next_.data(), next_.size());
  }
  return !starts_.failed() && !next_.failed() && !todo_.failed();
}

bool HolderGraph::Resolve() {
  for (Node& node : nodes_) node.root = node.before = kNone;
  runs_.Clear();
  FindAlike();
  if (nodes_.failed() || roots_.failed() || edges_.failed() || !IndexEdges() || !SpreadDrivers())
    return false;
  for (int of_class = 0; of_class < kClasses; ++of_class)
    if (!ResolveClass(of_class)) return false;
  return true;
}

}  // namespace memprof::recorder
