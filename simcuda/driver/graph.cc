// Nodes of graphs.
#include "simcuda/driver/graph.h"

#include <algorithm>
#include <map>

#include "simcuda/driver/handles.h"
#include "simcuda/driver/user_object.h"

namespace memprof::simcuda {
CUgraphNode Graph::Add(CUgraphNodeType type, std::function<void()> work,
                       std::vector<CUgraphNode> dependencies,
                       std::shared_ptr<GraphAllocation> memory, std::shared_ptr<Graph> child) {
  GraphNode node;
  node.type = type;
  node.work = std::move(work);
  node.dependencies = std::move(dependencies);
  node.memory = std::move(memory);
  node.child = std::move(child);
  return Add(std::move(node));
}

CUgraphNode Graph::Add(GraphNode node) {
  auto made = std::make_shared<GraphNode>(std::move(node));
  const std::lock_guard lock(mutex_);
  nodes_.push_back(made);
  return HandleOf(made);
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

void Graph::Own(std::shared_ptr<UserReferences> references) {
  const std::lock_guard lock(mutex_);
  owned_objects_.push_back(std::move(references));
}

bool Graph::Disown(const UserObject* object) {
  std::shared_ptr<UserReferences> gone;  // destroyed after the lock: that calls the program
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(owned_objects_.begin(), owned_objects_.end(),
                                  [&](const auto& one) { return one->object() == object; });
  if (found == owned_objects_.end()) return false;
  gone = std::move(*found);
  owned_objects_.erase(found);
  return true;
}

std::vector<CUgraphNode> Graph::DependenciesOf(const GraphNode& node) const {
  const std::lock_guard lock(mutex_);
  return node.dependencies;
}

std::vector<std::shared_ptr<GraphNode>> Graph::nodes() const {
  const std::lock_guard lock(mutex_);
  return nodes_;
}

bool Graph::has_memory() const {
  const std::lock_guard lock(mutex_);
  return std::any_of(nodes_.begin(), nodes_.end(), [](const auto& node) {
    return node->memory != nullptr || (node->child != nullptr && node->child->has_memory());
  });
}

std::shared_ptr<Graph> Graph::Clone() const {
  auto clone = std::make_shared<Graph>();
  std::map<CUgraphNode, CUgraphNode> variants;
  const std::lock_guard lock(mutex_);
  for (const auto& node : nodes_) {
    if (node->memory != nullptr) return nullptr;
    std::shared_ptr<Graph> child;
    if (node->child != nullptr) {
      child = node->child->Clone();
      if (child == nullptr) return nullptr;
      child->set_owned();
      AllHandles<Graph>().Add(child);
    }
    GraphNode variant = *node;
    variant.child = std::move(child);
    variant.origin = HandleOf(node);
    for (CUgraphNode& before : variant.dependencies) before = variants[before];
    variants[HandleOf(node)] = clone->Add(std::move(variant));
  }
  return clone;
}

bool Graph::AddEdge(CUgraphNode from, CUgraphNode to) {
  const std::lock_guard lock(mutex_);
  // Whether `to` comes before `from` already.
  std::vector<CUgraphNode> before = {from};
  for (size_t i = 0; i < before.size(); ++i) {
    if (before[i] == to) return false;
    for (const auto& node : nodes_) {
      if (HandleOf(node) != before[i]) continue;
      for (const CUgraphNode one : node->dependencies) {
        if (std::find(before.begin(), before.end(), one) == before.end()) before.push_back(one);
      }
    }
  }
  for (const auto& node : nodes_) {
    if (HandleOf(node) != to) continue;
    if (std::find(node->dependencies.begin(), node->dependencies.end(), from) !=
        node->dependencies.end()) {
      return false;
    }
    node->dependencies.push_back(from);
  }
  Sort();
  return true;
}

bool Graph::RemoveEdge(CUgraphNode from, CUgraphNode to) {
  const std::lock_guard lock(mutex_);
  for (const auto& node : nodes_) {
    if (HandleOf(node) == to) return std::erase(node->dependencies, from) != 0;
  }
  return false;
}

// Puts each node as early as the current order and its dependencies allow. Needs the mutex.
void Graph::Sort() {
  std::vector<std::shared_ptr<GraphNode>> sorted;
  std::map<CUgraphNode, bool> placed;
  while (sorted.size() < nodes_.size()) {
    const auto next = std::find_if(nodes_.begin(), nodes_.end(), [&](const auto& node) {
      return !placed[HandleOf(node)] &&
             std::all_of(node->dependencies.begin(), node->dependencies.end(),
                         [&](CUgraphNode before) { return placed[before]; });
    });
    if (next == nodes_.end()) return;  // a circle, which AddEdge keeps out
    placed[HandleOf(*next)] = true;
    sorted.push_back(*next);
  }
  nodes_ = std::move(sorted);
}

void Graph::AppendTo(std::vector<std::shared_ptr<GraphNode>>* flat) const {
  const std::lock_guard lock(mutex_);
  for (const auto& node : nodes_) {
    auto copy = std::make_shared<GraphNode>(*node);
    copy->origin = HandleOf(node);
    flat->push_back(std::move(copy));
    if (node->child != nullptr) node->child->AppendTo(flat);
  }
}

std::vector<std::shared_ptr<GraphNode>> Graph::Flattened() const {
  std::vector<std::shared_ptr<GraphNode>> flat;
  AppendTo(&flat);
  return flat;
}

std::shared_ptr<GraphExec> Graph::Instantiate() {
  const bool memory = has_memory();
  auto nodes = Flattened();
  const std::lock_guard lock(mutex_);
  const auto before = only_.lock();
  if (memory && before != nullptr && AllHandles<GraphExec>().Find(before.get()) != nullptr) {
    return nullptr;
  }
  auto exec = std::make_shared<GraphExec>(std::move(nodes), owned_objects_);
  only_ = exec;
  return exec;
}

std::shared_ptr<const GraphExec::Nodes> GraphExec::nodes() const {
  const std::lock_guard lock(mutex_);
  return nodes_;
}

bool GraphExec::Change(CUgraphNode origin, const std::function<void(GraphNode*)>& change) {
  const std::lock_guard lock(mutex_);
  Nodes changed = *nodes_;
  for (auto& node : changed) {
    if (node->origin != origin) continue;
    node = std::make_shared<GraphNode>(*node);
    change(node.get());
    nodes_ = std::make_shared<const Nodes>(std::move(changed));
    return true;
  }
  return false;
}

void GraphExec::SetNodes(Nodes nodes) {
  const std::lock_guard lock(mutex_);
  nodes_ = std::make_shared<const Nodes>(std::move(nodes));
}

void RetireGraph(const std::shared_ptr<Graph>& graph) {
  AllHandles<Graph>().Remove(graph.get());
  for (const auto& node : graph->nodes()) {
    if (node->child != nullptr) RetireGraph(node->child);
  }
}

std::shared_ptr<GraphNode> FindGraphNode(CUgraphNode handle, std::shared_ptr<Graph>* owner) {
  for (const auto& graph : AllHandles<Graph>().Select([](const Graph&) { return true; })) {
    for (const auto& node : graph->nodes()) {
      if (HandleOf(node) != handle) continue;
      *owner = graph;
      return node;
    }
  }
  return nullptr;
}

}  // namespace memprof::simcuda
