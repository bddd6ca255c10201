// A cache of the stacks that one thread took last: recognises a stack without walking it.
//
// A walk depends on the registers at its start and on some words of the stack: the return
// addresses, and saved frame pointers where a frame needs one. If all of these are unchanged, each
// step finds the same rule and leads to the same frame: by induction the stack is the same. So the
// memo compares these words at their places instead of walking. This is exact, and costs about half
// a nanosecond a frame.
//
// Stacks with the same pc and stack pointer are distinguished by a word in which they differ: a
// branch has the position of the word, and its value is part of the key from there on.
//
//   key (pc, sp) -> branch: word 17 -> key (.., value of word 17) -> leaf: first, n, id
//                                                                     |
//   words_, a ring:   ... | pc | sp | fp | offset:16 value:48 | (n) | ...
//
// Programs repeat sequences of stacks: each leaf has the index of the leaf that was found after it
// the last time, which is compared first, without a search.
//
// If most stacks are new, storing them costs more than it saves: then only some are stored.
//
// A leaf whose words were overwritten is void. The ring and the table of entries grow with the
// number of stacks, within the budget of all threads' memos; growing clears them. Not thread-safe:
// belongs to one thread, and lies in zeroed memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "libmemprof/src/base/hash.h"
#include "libmemprof/src/stacks/stack_walk.h"

namespace memprof::recorder {

class StackMemo {
 public:
  // What is stored about a stack.
  struct Result {
    std::uint32_t stack;  // id in the stack trie
    bool truncated;
  };

  // For another thread or generation of code: clears everything. Cheap.
  void Reset(std::uint32_t generation);
  std::uint32_t generation() const { return generation_; }
  // Clears everything and returns its memory, when the thread ends. Needed before the memory of the
  // memo itself is reused.
  void Release();

  bool Find(const Registers& start, Result* result) {
    const Entry& guess = entries_[expected_];
    if (guess.kind == Kind::kLeaf && IsCurrent(guess, guess.key) && Matches(guess, start)) {
      last_ = expected_;
      expected_ = guess.next;
      *result = {guess.stack, guess.truncated};
      return true;
    }
    return Search(start, result);
  }
  // After Find has failed, while the stack is still the same.
  void Store(const Registers& start, const StackWalk& walk, const Result& result);

 private:
  static constexpr std::uint64_t kWays = 4;  // places for an entry, side by side
  static constexpr std::uint64_t kFirstWords = 4096;
  static constexpr std::uint64_t kMaxWords = 65536;   // 512 KiB
  static constexpr std::uint64_t kWordsPerEntry = 8;  // of 32 bytes: 256 KiB
  static constexpr std::uint32_t kHeaderWords = 3;
  static constexpr int kMaxLevels = 12;
  static constexpr int kOffsetShift = 48;
  static constexpr std::uint64_t kValue = (std::uint64_t{1} << kOffsetShift) - 1;

  enum class Kind : std::uint8_t { kNone = 0, kLeaf, kBranch };
  struct Entry {
    std::uint64_t key;
    std::uint64_t first;  // of a leaf: its words, counted from the first use of the ring
    std::uint32_t epoch;
    std::uint32_t count;  // of a leaf: words after the header; of a branch: offset of its word
    std::uint32_t stack;
    std::uint16_t next;  // index of the leaf that was found after this one
    Kind kind : 4;
    bool uses_frame_pointer : 1;
    bool truncated : 1;
  };
  static_assert(sizeof(Entry) == 32 && kMaxWords / kWordsPerEntry <= 1 << 16);

  static std::uint64_t Key(std::uint64_t a, std::uint64_t b) { return Mix(a, b << 23 | b >> 41); }
  bool IsCurrent(const Entry& entry, std::uint64_t key) const {
    return entry.key == key && entry.epoch == epoch_ && epoch_ != 0 &&
           (entry.kind == Kind::kBranch || next_word_ - entry.first <= limit_);
  }
  std::uint64_t Place(std::uint64_t key, std::uint64_t way) const {
    return ((key * 0xd1342543de82ef95u >> 32) + way) & (limit_ / kWordsPerEntry - 1);
  }
  // The current entry of `key`; null if there is none.
  const Entry* FindEntry(std::uint64_t key) const {
    if (limit_ == 0) return nullptr;
    for (std::uint64_t way = 0; way < kWays; ++way) {
      const Entry& entry = entries_[Place(key, way)];
      if (IsCurrent(entry, key)) return &entry;
    }
    return nullptr;
  }
  // Where an entry of `key` may be written: a void one; else a leaf rather than a branch, on which
  // others depend.
  Entry* Choose(std::uint64_t key);
  const std::uint64_t* WordsOf(const Entry& leaf) const { return words_ + leaf.first % limit_; }
  bool Matches(const Entry& leaf, const Registers& start) const {
    const std::uint64_t* words = WordsOf(leaf);
    return words[0] == start.pc && words[1] == start.sp &&
           (!leaf.uses_frame_pointer || words[2] == start.fp) &&
           AllAsTheyWere(start.sp, words + kHeaderWords, leaf.count);
  }
  // The words lie on the program's stack, in frames that are not ours.
  __attribute__((no_sanitize("address", "thread", "undefined"))) static bool AllAsTheyWere(
      std::uint64_t sp, const std::uint64_t* words, std::uint32_t count) {
    std::uint64_t difference = 0;
    // Without an early exit: the keys have already separated most stacks, and without branches the
    // comparison is fast.
    for (std::uint32_t i = 0; i < count; ++i)
      difference |=
          *reinterpret_cast<const std::uint64_t*>(sp + OffsetOf(words[i])) ^ (words[i] & kValue);
    return (difference & arch::kWordMask) == 0;
  }
  static std::uint64_t OffsetOf(std::uint64_t word) { return word >> kOffsetShift << 3; }
  bool Search(const Registers& start, Result* result);
  void Expect(const Entry& found);
  // Replaces `leaf` by a branch, and moves the leaf below it. False when the stacks differ in no
  // word.
  bool Split(Entry* leaf, std::uint64_t sp);
  bool Grow();
  static constexpr std::uint64_t BytesFor(std::uint64_t words) {
    return words * sizeof(std::uint64_t) + words / kWordsPerEntry * sizeof(Entry);
  }
  template <typename Act>
  void OnPages(Act act);
  void LeaveOutOfChildren();
  bool MakeRoom(std::uint64_t count);
  bool Pack(const Registers& start, const StackWalk& walk);
  bool IsWorthStoring();

  std::uint32_t epoch_ = 0;
  std::uint32_t generation_ = 0;
  std::uint64_t next_word_ = 0;
  std::uint64_t limit_ = 0;  // words of the ring in use
  std::uint16_t last_ = 0;   // index of the leaf found last
  std::uint16_t expected_ = 0;
  std::uint16_t last_at_store_ = 0;
  std::uint32_t stores_ = 0;  // since another leaf was found
  Entry entries_[kMaxWords / kWordsPerEntry];
  std::uint64_t words_[kMaxWords];
};

}  // namespace memprof::recorder
