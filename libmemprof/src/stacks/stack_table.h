// Interns call stacks: every distinct stack becomes one node of a trie, and is published once.
//
// A thread first searches its own small cache by the hash of all frames. Only a stack that is not
// in the cache walks the trie, without a lock as long as all its nodes exist. Nodes are only added,
// never removed. Two stacks with the same 64-bit hash would be taken for one: with a million stacks
// the probability of that is about 3 in 10^8.
//
// Thread-safety: Intern may be called by any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "libmemprof/src/base/locks.h"
#include "libmemprof/src/log/definitions.h"
#include "libmemprof/src/stacks/modules.h"

namespace memprof::recorder {

// Direct-mapped; belongs to one thread.
struct StackCache {
  static constexpr std::size_t kEntries = 512;
  struct Entry {
    std::uint64_t hash;
    std::uint64_t node;
  };
  Entry entries[kEntries];
};

// Marks an element of a stack that is no address, but the id of a PythonFrame. This half of the
// address space belongs to the kernel; no program runs code there.
inline constexpr std::uint64_t kPythonElement = std::uint64_t{1} << 63;
inline void* PythonElement(std::uint32_t id) {
  return reinterpret_cast<void*>(kPythonElement | id);
}

class StackTable {
 public:
  StackTable(Definitions* definitions, Modules* modules)
      : definitions_(definitions), modules_(modules) {}
  ~StackTable();
  StackTable(const StackTable&) = delete;
  StackTable& operator=(const StackTable&) = delete;

  // False when there is no memory: stacks are then not recorded. `buckets`, a power of two of 4
  // bytes each: the number of stacks up to which searching is fast.
  bool Create(std::uint32_t buckets = 1u << 18);

  // Id of the node of `frames` (return addresses or Python elements, innermost first); 0 for an
  // empty stack, or when there is no space for another node.
  std::uint32_t Intern(void* const* frames, int count, StackCache* cache);

  std::uint32_t nodes() const { return last_id_.load(std::memory_order_relaxed); }

 private:
  struct Node {
    std::uint64_t address;  // or a Python element
    std::uint32_t parent;   // or kRoot | generation
    std::uint32_t next;     // in the same bucket
  };
  static constexpr std::uint32_t kMaxNodes = 1u << 22;  // 64 MiB
  static constexpr std::uint32_t kRoot = 1u << 31;
  static constexpr std::uint32_t kNodesAtOnce = 4096;  // charged together: 64 KiB

  std::uint32_t Bucket(std::uint32_t parent, std::uint64_t address) const;
  std::uint32_t Find(std::uint32_t parent, std::uint64_t address) const;
  std::uint32_t Add(std::uint32_t parent, std::uint64_t address);
  std::uint32_t Walk(void* const* frames, int count, std::uint32_t root);

  Definitions* definitions_;
  Modules* modules_;
  Mutex<LockRank::kStacks> mutex_;
  std::atomic<std::uint32_t>* buckets_ = nullptr;
  std::uint32_t bucket_count_ = 0;
  Node* nodes_ = nullptr;  // by id
  std::atomic<std::uint32_t> last_id_{0};
  std::uint32_t room_ = 0;  // ids below it have memory
};

// Hash of a whole stack; never 0.
std::uint64_t HashFrames(void* const* frames, int count, std::uint32_t generation);

}  // namespace memprof::recorder
