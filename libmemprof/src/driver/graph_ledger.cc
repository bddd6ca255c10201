// Linear arrays: programs have few memory nodes.
#include "libmemprof/src/driver/graph_ledger.h"

namespace memprof::recorder {
namespace {

template <typename T>
std::size_t Count(const ByteBuffer& buffer) {
  return buffer.size() / sizeof(T);
}
template <typename T>
T* Items(ByteBuffer* buffer) {
  return reinterpret_cast<T*>(buffer->data());
}
template <typename T>
void EraseItem(ByteBuffer* buffer, std::size_t i) {
  buffer->Erase(i * sizeof(T), (i + 1) * sizeof(T));
}

}  // namespace

void GraphLedger::AddNode(std::uint64_t graph, const Node& node) {
  LockGuard lock(mutex_);
  const Owned owned{graph, node};
  graphs_.Append(&owned, sizeof owned);
  if (node.device >= 0 && node.device < 64)
    devices_.fetch_or(std::uint64_t{1} << node.device, std::memory_order_relaxed);
}

void GraphLedger::EraseOwner(ByteBuffer* all, std::uint64_t owner) {
  for (std::size_t i = Count<Owned>(*all); i-- > 0;)
    if (Items<Owned>(all)[i].owner == owner) EraseItem<Owned>(all, i);
}

// What the graph and those within it do, in order, as nodes of `owner`. `to` may be graphs_.
void GraphLedger::CopyNodes(std::uint64_t graph, std::uint64_t owner, ByteBuffer* to, int depth) {
  if (depth > kDeepest) return;
  const std::size_t count = Count<Owned>(graphs_);
  for (std::size_t i = 0; i < count; ++i) {
    Owned owned = Items<Owned>(&graphs_)[i];
    if (owned.owner != graph) continue;
    if (owned.node.is_child) {
      CopyNodes(owned.node.address, owner, to, depth + 1);
      continue;
    }
    owned.owner = owner;
    to->Append(&owned, sizeof owned);
  }
}

void GraphLedger::AddChild(std::uint64_t graph, std::uint64_t child, bool moved) {
  LockGuard lock(mutex_);
  if (!moved) return CopyNodes(child, graph, &graphs_, 0);
  Owned owned{graph, {}};
  owned.node.address = child;
  owned.node.is_child = true;
  graphs_.Append(&owned, sizeof owned);
}

void GraphLedger::Clone(std::uint64_t graph, std::uint64_t clone) {
  LockGuard lock(mutex_);
  CopyNodes(graph, clone, &graphs_, 0);
}

void GraphLedger::Destroy(std::uint64_t graph, int depth) {
  for (std::size_t i = 0; i < Count<Owned>(graphs_) && depth <= kDeepest; ++i) {
    Owned& owned = Items<Owned>(&graphs_)[i];
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
  EraseOwner(&execs_, exec);  // the handle of one whose end was not seen
  CopyNodes(graph, exec, &execs_, 0);
  exec_nodes_.store(static_cast<std::uint32_t>(Count<Owned>(execs_)), std::memory_order_relaxed);
}

void GraphLedger::DestroyExec(std::uint64_t exec) {
  if (exec_nodes_.load(std::memory_order_relaxed) == 0) return;
  LockGuard lock(mutex_);
  EraseOwner(&execs_, exec);
  exec_nodes_.store(static_cast<std::uint32_t>(Count<Owned>(execs_)), std::memory_order_relaxed);
}

bool GraphLedger::HasMemory(std::uint64_t exec) {
  if (exec_nodes_.load(std::memory_order_relaxed) == 0) return false;
  LockGuard lock(mutex_);
  for (std::size_t i = 0; i < Count<Owned>(execs_); ++i)
    if (Items<Owned>(&execs_)[i].owner == exec) return true;
  return false;
}

std::uint64_t GraphLedger::AskedFor(std::uint64_t exec, std::int32_t* device) {
  LockGuard lock(mutex_);
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < Count<Owned>(execs_); ++i) {
    const Owned& owned = Items<Owned>(&execs_)[i];
    if (owned.owner != exec || owned.node.frees) continue;
    bytes += owned.node.bytes;
    *device = owned.node.device;
  }
  return bytes;
}

bool GraphLedger::EraseLive(std::uint64_t address, Node* node) {
  for (std::size_t i = 0; i < Count<Node>(live_); ++i) {
    if (Items<Node>(&live_)[i].address != address) continue;
    *node = Items<Node>(&live_)[i];
    EraseItem<Node>(&live_, i);
    return true;
  }
  return false;
}

void GraphLedger::Launch(std::uint64_t exec, ByteBuffer* changes) {
  LockGuard lock(mutex_);
  const std::size_t count = Count<Owned>(execs_);
  // First what is left of earlier launches and ends here: of this graph by the auto-free flag, of
  // others by its free nodes.
  for (std::size_t i = 0; i < count; ++i) {
    const Owned& owned = Items<Owned>(&execs_)[i];
    Change change{{}, true, true};
    if (owned.owner == exec && EraseLive(owned.node.address, &change.node))
      changes->Append(&change, sizeof change);
  }
  for (std::size_t i = 0; i < count; ++i) {
    const Owned owned = Items<Owned>(&execs_)[i];
    if (owned.owner != exec) continue;
    Change change{owned.node, owned.node.frees, false};
    if (!owned.node.frees)
      live_.Append(&owned.node, sizeof owned.node);
    else if (!EraseLive(owned.node.address, &change.node))
      continue;
    changes->Append(&change, sizeof change);
  }
  live_count_.store(static_cast<std::uint32_t>(Count<Node>(live_)), std::memory_order_relaxed);
}

std::uint32_t GraphLedger::Freeing(std::uint64_t address) {
  if (live_count_.load(std::memory_order_relaxed) == 0) return 0;
  LockGuard lock(mutex_);
  Taken taken;
  if (!EraseLive(address, &taken.node)) return 0;
  live_count_.store(static_cast<std::uint32_t>(Count<Node>(live_)), std::memory_order_relaxed);
  if (++last_freeing_ == 0) ++last_freeing_;
  taken.freeing = last_freeing_;
  taken_.Append(&taken, sizeof taken);
  return taken.freeing;
}

void GraphLedger::Freed(std::uint32_t freeing, bool succeeded) {
  if (freeing == 0) return;
  LockGuard lock(mutex_);
  for (std::size_t i = 0; i < Count<Taken>(taken_); ++i) {
    const Taken taken = Items<Taken>(&taken_)[i];
    if (taken.freeing != freeing) continue;
    EraseItem<Taken>(&taken_, i);
    if (!succeeded) live_.Append(&taken.node, sizeof taken.node);
    break;
  }
  live_count_.store(static_cast<std::uint32_t>(Count<Node>(live_)), std::memory_order_relaxed);
}

void GraphLedger::EndDevice(std::int32_t device, ByteBuffer* ended) {
  if (live_count_.load(std::memory_order_relaxed) == 0) return;
  LockGuard lock(mutex_);
  for (std::size_t i = 0; i < Count<Node>(live_);) {
    const Node node = Items<Node>(&live_)[i];
    if (node.device != device) {
      ++i;
      continue;
    }
    if (ended != nullptr) ended->Append(&node, sizeof node);
    EraseItem<Node>(&live_, i);
  }
  live_count_.store(static_cast<std::uint32_t>(Count<Node>(live_)), std::memory_order_relaxed);
}

}  // namespace memprof::recorder
