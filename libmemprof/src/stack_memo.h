// Remembers the stacks that one thread took lately, and tells a stack it has seen without walking
// it.
//
// A walk depends on the registers at its start and on some words of the stack: the return
// addresses, and saved frame pointers where a frame needs one. If all of these are as they were,
// each step would find the same rule and go to the same place: by induction the stack is the same.
// So instead of walking, the memo compares these words where they were. This is exact, not a
// guess, and costs about half a nanosecond a frame.
//
//   entries_: direct-mapped by (pc, sp)          words_: a ring of StackWord
//   +----+----+----+------------+-----+          +---------------------------------+
//   | pc | sp | bp | first, n   | id  | -------> | ... | offset, value | ... (n)   |
//   +----+----+----+------------+-----+          +---------------------------------+
//
// An entry whose words were overwritten meanwhile is void. Memory: 32 KiB and 256 KiB of address
// space a thread, of which only what is used gets pages. Not thread-safe: belongs to one thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "libmemprof/src/stack_walk.h"

namespace memprof::recorder {

class StackMemo {
 public:
  // What was found out about a stack.
  struct Result {
    std::uint32_t stack;  // id in the stack trie
    bool truncated;
  };

  // Of another thread or generation of code: forget everything. Cheap.
  void Reset(std::uint32_t generation);
  std::uint32_t generation() const { return generation_; }

  bool Find(const Registers& start, Result* result) const;
  void Store(const Registers& start, const StackWalk& walk, const Result& result);

 private:
  static constexpr std::uint64_t kEntries = 512;
  static constexpr std::uint64_t kWords = 16384;
  struct Entry {
    std::uint64_t pc;
    std::uint64_t sp;
    std::uint64_t bp;
    std::uint64_t first;  // counts words ever stored; its place is the remainder
    std::uint64_t epoch;
    std::uint32_t count;
    std::uint32_t stack;
    bool uses_frame_pointer;
    bool truncated;
  };
  static std::uint64_t Place(const Registers& start) {
    return ((start.pc ^ start.sp << 7) * 0x9fb21c651e98df25u >> 40) & (kEntries - 1);
  }

  std::uint64_t epoch_ = 0;
  std::uint32_t generation_ = 0;
  std::uint64_t next_word_ = 0;
  Entry entries_[kEntries];
  StackWord words_[kWords];
};

}  // namespace memprof::recorder
