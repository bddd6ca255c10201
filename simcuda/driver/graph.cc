// Nodes of graphs.
#include "simcuda/driver/graph.h"

#include <algorithm>

namespace memprof::simcuda {
namespace {

CUgraphNode HandleOf(const std::shared_ptr<GraphNode>& node) {
  return reinterpret_cast<CUgraphNode>(node.get());
}

}  // namespace

CUgraphNode Graph::Add(CUgraphNodeType type, std::function<void()> work,
                       std::vector<CUgraphNode> dependencies) {
  auto node = std::make_shared<GraphNode>();
  node->type = type;
  node->work = std::move(work);
  node->dependencies = std::move(dependencies);
  const std::lock_guard lock(mutex_);
  nodes_.push_back(node);
  return HandleOf(node);
}

bool Graph::Has(const CUgraphNode* nodes, size_t count) const {
  const std::lock_guard lock(mutex_);
  return std::all_of(nodes, nodes + count, [&](CUgraphNode wanted) {
    return std::any_of(nodes_.begin(), nodes_.end(),
                       [&](const auto& node) { return HandleOf(node) == wanted; });
  });
}

bool Graph::Remove(CUgraphNode handle) {
  const std::lock_guard lock(mutex_);
  const size_t erased =
      std::erase_if(nodes_, [&](const auto& node) { return HandleOf(node) == handle; });
  for (const auto& node : nodes_) std::erase(node->dependencies, handle);
  return erased != 0;
}

std::vector<std::shared_ptr<GraphNode>> Graph::nodes() const {
  const std::lock_guard lock(mutex_);
  return nodes_;
}

}  // namespace memprof::simcuda
