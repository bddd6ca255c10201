// Linear arrays: programs have few memory nodes.
#include "libmemprof/src/driver/graph_ledger.h"

namespace memprof::recorder {

void GraphLedger::CountExecNodes() {
  exec_nodes_.store(static_cast<std::uint32_t>(execs_.size()), std::memory_order_relaxed);
}

void GraphLedger::CountLive() {
  live_count_.store(static_cast<std::uint32_t>(live_.size()), std::memory_order_relaxed);
}

void GraphLedger::AddNode(std::uint64_t graph, const Node& node) {
  LockGuard lock(mutex_);
  graphs_.Append({graph, node});
  if (node.device >= 0 && node.device < 64)
    devices_.fetch_or(std::uint64_t{1} << node.device, std::memory_order_relaxed);
}

void GraphLedger::EraseOwner(MappedArray<Owned>* all, std::uint64_t owner) {
  all->EraseIf([owner](const Owned& owned) { return owned.owner == owner; });
}

// Appends the nodes of the graph and of its child graphs, in order, as nodes of `owner`. `to` may
// be graphs_.
void GraphLedger::CopyNodes(std::uint64_t graph, std::uint64_t owner, MappedArray<Owned>* to,
                            int depth) {
  if (depth > kMaxDepth) return;
  const std::size_t count = graphs_.size();
  for (std::size_t i = 0; i < count; ++i) {
    Owned owned = graphs_[i];
    if (owned.owner != graph) continue;
    if (owned.node.is_child) {
      CopyNodes(owned.node.address, owner, to, depth + 1);
      continue;
    }
    owned.owner = owner;
    to->Append(owned);
  }
}

void GraphLedger::AddChild(std::uint64_t graph, std::uint64_t child, bool moved) {
  LockGuard lock(mutex_);
  if (!moved) return CopyNodes(child, graph, &graphs_, 0);
  Owned owned{graph, {}};
  owned.node.address = child;
  owned.node.is_child = true;
  graphs_.Append(owned);
}

void GraphLedger::Clone(std::uint64_t graph, std::uint64_t clone) {
  LockGuard lock(mutex_);
  CopyNodes(graph, clone, &graphs_, 0);
}

void GraphLedger::Destroy(std::uint64_t graph, int depth) {
  for (std::size_t i = 0; i < graphs_.size() && depth <= kMaxDepth; ++i) {
    Owned& owned = graphs_[i];
    if (owned.owner != graph || !owned.node.is_child) continue;
    owned.node.is_child = false;
    Destroy(owned.node.address, depth + 1);
    i = static_cast<std::size_t>(-1);  // entries have moved
  }
  EraseOwner(&graphs_, graph);
}

void GraphLedger::DestroyGraph(std::uint64_t graph) {
  LockGuard lock(mutex_);
  Destroy(graph, 0);
}

void GraphLedger::Instantiate(std::uint64_t graph, std::uint64_t exec) {
  LockGuard lock(mutex_);
  EraseOwner(&execs_, exec);  // an executable of this handle whose end was not seen
  CopyNodes(graph, exec, &execs_, 0);
  CountExecNodes();
}

void GraphLedger::DestroyExec(std::uint64_t exec) {
  if (exec_nodes_.load(std::memory_order_relaxed) == 0) return;
  LockGuard lock(mutex_);
  EraseOwner(&execs_, exec);
  CountExecNodes();
}

bool GraphLedger::HasMemory(std::uint64_t exec) {
  if (exec_nodes_.load(std::memory_order_relaxed) == 0) return false;
  LockGuard lock(mutex_);
  return execs_.Find([exec](const Owned& owned) { return owned.owner == exec; }) != nullptr;
}

std::uint64_t GraphLedger::RequestedBytes(std::uint64_t exec, std::int32_t* device) {
  LockGuard lock(mutex_);
  std::uint64_t bytes = 0;
  for (const Owned& owned : execs_) {
    if (owned.owner != exec || owned.node.frees) continue;
    bytes += owned.node.bytes;
    *device = owned.node.device;
  }
  return bytes;
}

bool GraphLedger::EraseLive(std::uint64_t address, Node* node) {
  const Node* live =
      live_.Find([address](const Node& candidate) { return candidate.address == address; });
  if (live == nullptr) return false;
  *node = *live;
  live_.Erase(live);
  return true;
}

void GraphLedger::Launch(std::uint64_t exec, MappedArray<Change>* changes) {
  LockGuard lock(mutex_);
  // First, memory of earlier launches that this launch frees: its own by the auto-free flag,
  // others' by its free nodes.
  for (const Owned& owned : execs_) {
    Change change{{}, true, true};
    if (owned.owner == exec && EraseLive(owned.node.address, &change.node)) changes->Append(change);
  }
  for (const Owned& owned : execs_) {
    if (owned.owner != exec) continue;
    Change change{owned.node, owned.node.frees, false};
    if (!owned.node.frees)
      live_.Append(owned.node);
    else if (!EraseLive(owned.node.address, &change.node))
      continue;
    changes->Append(change);
  }
  CountLive();
}

std::uint32_t GraphLedger::Freeing(std::uint64_t address) {
  if (live_count_.load(std::memory_order_relaxed) == 0) return 0;
  LockGuard lock(mutex_);
  Taken taken;
  if (!EraseLive(address, &taken.node)) return 0;
  CountLive();
  if (++last_freeing_ == 0) ++last_freeing_;
  taken.freeing = last_freeing_;
  taken_.Append(taken);
  return taken.freeing;
}

void GraphLedger::Freed(std::uint32_t freeing, bool succeeded) {
  if (freeing == 0) return;
  LockGuard lock(mutex_);
  const Taken* taken =
      taken_.Find([freeing](const Taken& candidate) { return candidate.freeing == freeing; });
  if (taken == nullptr) return;
  if (!succeeded) live_.Append(taken->node);
  taken_.Erase(taken);
  CountLive();
}

void GraphLedger::EndDevice(std::int32_t device, MappedArray<Node>* ended) {
  if (live_count_.load(std::memory_order_relaxed) == 0) return;
  LockGuard lock(mutex_);
  live_.EraseIf([=](const Node& node) {
    if (node.device != device) return false;
    if (ended != nullptr) ended->Append(node);
    return true;
  });
  CountLive();
}

}  // namespace memprof::recorder
