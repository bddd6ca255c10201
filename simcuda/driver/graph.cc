// Nodes of graphs.
#include "simcuda/driver/graph.h"

#include <algorithm>
#include <map>

#include "simcuda/driver/handles.h"
#include "simcuda/driver/user_object.h"

namespace memprof::simcuda {
namespace {

CUgraphNode HandleOf(const std::shared_ptr<GraphNode>& node) {
  return reinterpret_cast<CUgraphNode>(node.get());
}

}  // namespace

CUgraphNode Graph::Add(CUgraphNodeType type, std::function<void()> work,
                       std::vector<CUgraphNode> dependencies,
                       std::shared_ptr<GraphAllocation> memory, std::shared_ptr<Graph> child) {
  auto node = std::make_shared<GraphNode>();
  node->type = type;
  node->work = std::move(work);
  node->dependencies = std::move(dependencies);
  node->memory = std::move(memory);
  node->child = std::move(child);
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

void Graph::Own(std::shared_ptr<UserReferences> references) {
  const std::lock_guard lock(mutex_);
  owned_objects_.push_back(std::move(references));
}

bool Graph::Disown(const UserObject* object) {
  std::shared_ptr<UserReferences> gone;  // ends after the lock: the program is called then
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
  std::map<CUgraphNode, CUgraphNode> twins;
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
    std::vector<CUgraphNode> dependencies;
    for (const CUgraphNode before : node->dependencies) dependencies.push_back(twins[before]);
    twins[HandleOf(node)] =
        clone->Add(node->type, node->work, std::move(dependencies), nullptr, std::move(child));
  }
  return clone;
}

// The nodes in the order in which they run, those of child graphs in the place of their node.
void Graph::AppendTo(std::vector<std::shared_ptr<GraphNode>>* flat) const {
  for (const auto& node : nodes()) {
    flat->push_back(node);
    if (node->child != nullptr) node->child->AppendTo(flat);
  }
}

std::shared_ptr<GraphExec> Graph::Instantiate() {
  const bool memory = has_memory();
  auto exec = std::make_shared<GraphExec>();
  AppendTo(&exec->nodes);
  const std::lock_guard lock(mutex_);
  const auto before = only_.lock();
  if (memory && before != nullptr && AllHandles<GraphExec>().Find(before.get()) != nullptr) {
    return nullptr;
  }
  only_ = exec;
  exec->owned_objects = owned_objects_;
  return exec;
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
