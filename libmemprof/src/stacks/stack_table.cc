// The trie of call stacks: a hash of (parent, address) to node, chained through the node array.
#include "libmemprof/src/stacks/stack_table.h"

#include <sys/mman.h>

#include "libmemprof/src/base/hash.h"

namespace memprof::recorder {
namespace {

constexpr std::uint32_t kNative = 0, kPython = 1;  // log.FrameKind

// Return addresses less one, which lie in the instruction that called.
std::uint64_t KeyOf(const void* frame) {
  const auto key = reinterpret_cast<std::uint64_t>(frame);
  return (key & kPythonElement) != 0 ? key : key - 1;
}

}  // namespace

std::uint64_t HashFrames(void* const* frames, int count, std::uint32_t generation) {
  // Two lanes: a multiplication then only waits for the previous one of its lane.
  std::uint64_t even = kHashSeed ^ generation;
  std::uint64_t odd = static_cast<std::uint64_t>(count);
  int i = 0;
  for (; i + 1 < count; i += 2) {
    even = Mix(even, reinterpret_cast<std::uint64_t>(frames[i]));
    odd = Mix(odd, reinterpret_cast<std::uint64_t>(frames[i + 1]));
  }
  if (i < count) even = Mix(even, reinterpret_cast<std::uint64_t>(frames[i]));
  const std::uint64_t hash = Mix(even, odd << 17 | odd >> 47);
  return hash == 0 ? 1 : hash;
}

StackTable::~StackTable() {
  UnmapMemory(buckets_, bucket_count_ * sizeof(std::atomic<std::uint32_t>));
  if (nodes_ == nullptr) return;
  ForgetOwn(nodes_);
  munmap(nodes_, kMaxNodes * sizeof(Node));
  ReturnMemory(std::uint64_t{room_} * sizeof(Node), Need::kTable);
}

bool StackTable::Create(std::uint32_t buckets) {
  bucket_count_ = buckets;
  // Only address space: pages get memory as nodes are added.
  buckets_ = static_cast<std::atomic<std::uint32_t>*>(
      MapMemory(bucket_count_ * sizeof(std::atomic<std::uint32_t>)));
  nodes_ = static_cast<Node*>(MapAddressSpace(kMaxNodes * sizeof(Node)));
  return buckets_ != nullptr && nodes_ != nullptr;
}

std::uint32_t StackTable::Bucket(std::uint32_t parent, std::uint64_t address) const {
  const std::uint64_t hash = Mix(address, std::uint64_t{parent} << 40 | parent);
  return static_cast<std::uint32_t>(hash) & (bucket_count_ - 1);
}

std::uint32_t StackTable::Find(std::uint32_t parent, std::uint64_t address) const {
  std::uint32_t id = buckets_[Bucket(parent, address)].load(std::memory_order_acquire);
  while (id != 0) {
    const Node& node = nodes_[id];
    if (node.address == address && node.parent == parent) return id;
    id = node.next;
  }
  return 0;
}

std::uint32_t StackTable::Add(std::uint32_t parent, std::uint64_t address) {
  const std::uint32_t id = last_id_.load(std::memory_order_relaxed) + 1;
  if (id >= room_ && id < kMaxNodes && ChargeMemory(kNodesAtOnce * sizeof(Node), Need::kTable))
    room_ += kNodesAtOnce;
  if (id >= room_) {
    definitions_->CountLost();
    return 0;
  }
  const std::uint32_t caller = (parent & kRoot) != 0 ? 0 : parent;
  const bool python = (address & kPythonElement) != 0;
  const ring::NodeRecord record =
      python ? ring::NodeRecord{address & ~kPythonElement, id, caller, 0, kPython}
             : ring::NodeRecord{address, id, caller, modules_->Find(address), kNative};
  if (!definitions_->AddNode(record)) return 0;
  std::atomic<std::uint32_t>& bucket = buckets_[Bucket(parent, address)];
  nodes_[id] = {address, parent, bucket.load(std::memory_order_relaxed)};
  last_id_.store(id, std::memory_order_relaxed);
  bucket.store(id, std::memory_order_release);
  return id;
}

std::uint32_t StackTable::Walk(void* const* frames, int count, std::uint32_t root) {
  std::uint32_t parent = root;
  int at = count - 1;
  for (; at >= 0; --at) {
    const std::uint32_t id = Find(parent, KeyOf(frames[at]));
    if (id == 0) break;
    parent = id;
  }
  if (at < 0) return parent;
  modules_->Refresh();
  LockGuard lock(mutex_);
  for (; at >= 0; --at) {
    const std::uint64_t address = KeyOf(frames[at]);
    std::uint32_t id = Find(parent, address);
    if (id == 0) id = Add(parent, address);
    if (id == 0) return 0;
    parent = id;
  }
  return parent;
}

std::uint32_t StackTable::Intern(void* const* frames, int count, StackCache* cache) {
  if (count <= 0 || nodes_ == nullptr) return 0;
  const std::uint32_t generation = modules_->generation();
  const std::uint64_t hash = HashFrames(frames, count, generation);
  StackCache::Entry& entry = cache->entries[hash & (StackCache::kEntries - 1)];
  if (entry.hash == hash) return static_cast<std::uint32_t>(entry.node);
  const std::uint32_t node = Walk(frames, count, kRoot | (generation & (kRoot - 1)));
  if (node == 0) return 0;
  entry.hash = hash;
  entry.node = node;
  return node;
}

}  // namespace memprof::recorder
