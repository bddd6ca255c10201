// Compares stack words instead of walking.
#include "libmemprof/src/stacks/stack_memo.h"

#include <sys/mman.h>

#include <atomic>

#include "libmemprof/src/base/sys.h"

namespace memprof::recorder {
namespace {

// The words lie on the program's stack, in frames that are not ours.
__attribute__((no_sanitize("address", "thread", "undefined"))) inline std::uint64_t ReadWord(
    std::uint64_t address) {
  return *reinterpret_cast<const std::uint64_t*>(address) & arch::kWordMask;
}

}  // namespace

void StackMemo::Reset(std::uint32_t generation) {
  ++epoch_;  // entries start with 0, which is thus never the current epoch
  // A handler may leave by a jump: entries are void before the generation is the new one.
  std::atomic_signal_fence(std::memory_order_seq_cst);
  generation_ = generation;
  next_word_ = 0;
}

// Whole pages only; a page that is shared with other data is left alone.
template <typename Act>
void StackMemo::OnPages(Act act) {
  const std::uintptr_t page = PageBytes();
  const auto begin = (reinterpret_cast<std::uintptr_t>(entries_) + page - 1) & ~(page - 1);
  const auto end = reinterpret_cast<std::uintptr_t>(words_ + kMaxWords) & ~(page - 1);
  SystemSection section;
  act(reinterpret_cast<void*>(begin), end - begin);
}

// A forked child has no use for its parent's memo.
void StackMemo::LeaveOutOfChildren() {
  OnPages([](void* begin, std::size_t bytes) { madvise(begin, bytes, MADV_DONTFORK); });
}

void StackMemo::Release() {
  if (limit_ == 0) return;
  OnPages([](void* begin, std::size_t bytes) {
    madvise(begin, bytes, MADV_DONTNEED);
    madvise(begin, bytes, MADV_DOFORK);
  });
  ReturnMemory(BytesFor(limit_), Need::kMemo);
  limit_ = 0;
  expected_ = last_ = last_at_store_ = 0;
  stores_ = 0;
  Reset(generation_);
}

// Stores that this leaf followed the one found before it, so that it is expected next time.
void StackMemo::Expect(const Entry& found) {
  const auto index = static_cast<std::uint16_t>(&found - entries_);
  entries_[last_].next = index;
  last_ = index;
  expected_ = found.next;
}

bool StackMemo::Search(const Registers& start, Result* result) {
  std::uint64_t key = Key(start.pc, start.sp);
  for (int level = 0; level < kMaxLevels; ++level) {
    const Entry* entry = FindEntry(key);
    if (entry == nullptr) return false;
    if (entry->kind == Kind::kBranch) {
      key = Key(key, ReadWord(start.sp + entry->count));
      continue;
    }
    if (!Matches(*entry, start)) return false;
    Expect(*entry);
    *result = {entry->stack, entry->truncated};
    return true;
  }
  return false;
}

StackMemo::Entry* StackMemo::Choose(std::uint64_t key) {
  // Of leaves, by a part of the key that does not determine the place.
  Entry* chosen = &entries_[Place(key, key % kWays)];
  for (std::uint64_t way = 0; way < kWays; ++way) {
    Entry& entry = entries_[Place(key, way)];
    if (!IsCurrent(entry, entry.key)) return &entry;
    if (chosen->kind == Kind::kBranch) chosen = &entry;
  }
  return chosen;
}

bool StackMemo::Split(Entry* leaf, std::uint64_t sp) {
  const std::uint64_t* words = WordsOf(*leaf);
  if (words[1] != sp) return false;
  for (std::uint32_t i = 0; i < leaf->count; ++i) {
    const std::uint64_t before = words[kHeaderWords + i] & kValue;
    const std::uint64_t offset = OffsetOf(words[kHeaderWords + i]);
    if (ReadWord(sp + offset) == before) continue;
    Entry moved = *leaf;
    moved.key = Key(leaf->key, before);
    Entry branch = *leaf;
    branch.kind = Kind::kBranch;
    branch.count = static_cast<std::uint32_t>(offset);
    *Choose(moved.key) = moved;
    *leaf = branch;  // second, in case both have the same place
    return true;
  }
  return false;
}

// Places depend on the size, so growing clears the table.
bool StackMemo::Grow() {
  if (limit_ == kMaxWords) return false;
  const std::uint64_t more = limit_ == 0 ? kFirstWords : limit_;
  if (!ChargeMemory(BytesFor(more), Need::kMemo)) return false;
  if (limit_ == 0) LeaveOutOfChildren();
  limit_ += more;
  next_word_ = 0;
  ++epoch_;
  return true;
}

// Makes space for `count` words in one piece. Grows rather than wraps around, as long as it may.
bool StackMemo::MakeRoom(std::uint64_t count) {
  if (count > kFirstWords) return false;
  if (next_word_ + count > limit_ && !Grow() && limit_ == 0) return false;
  if (next_word_ % limit_ + count > limit_) next_word_ += limit_ - next_word_ % limit_;
  return true;
}

// Writes a leaf's words after the last ones.
bool StackMemo::Pack(const Registers& start, const StackWalk& walk) {
  const auto count = static_cast<std::uint32_t>(walk.word_count);
  if (!MakeRoom(kHeaderWords + count)) return false;
  std::uint64_t* words = words_ + next_word_ % limit_;
  // First, so that leaves whose words are overwritten here become void.
  next_word_ += kHeaderWords + count;
  words[0] = start.pc;
  words[1] = start.sp;
  words[2] = start.fp;
  for (std::uint32_t i = 0; i < count; ++i) {
    const StackWord& word = walk.words[i];
    if (word.offset >> 3 >= 1u << (64 - kOffsetShift) || word.value > kValue) return false;
    words[kHeaderWords + i] = std::uint64_t{word.offset >> 3} << kOffsetShift | word.value;
  }
  return true;
}

// Decided here and not when a stack is searched, which must be as fast as possible.
bool StackMemo::IsWorthStoring() {
  constexpr std::uint32_t kPatience = 1024, kOneOf = 16;
  if (last_ != last_at_store_) stores_ = 0;
  last_at_store_ = last_;
  return ++stores_ <= kPatience || stores_ % kOneOf == 0;
}

void StackMemo::Store(const Registers& start, const StackWalk& walk, const Result& result) {
  if (epoch_ == 0 || !IsWorthStoring() || !Pack(start, walk)) return;
  const auto count = static_cast<std::uint32_t>(walk.word_count);
  const Entry leaf{
      0,           next_word_ - kHeaderWords - count, epoch_,          count, result.stack, 0,
      Kind::kLeaf, walk.uses_frame_pointer,           result.truncated};
  std::uint64_t key = Key(start.pc, start.sp);
  for (int level = 0; level < kMaxLevels; ++level) {
    auto* entry = const_cast<Entry*>(FindEntry(key));
    if (entry == nullptr || (entry->kind == Kind::kLeaf && !Split(entry, start.sp))) {
      if (entry == nullptr) entry = Choose(key);
      *entry = leaf;
      entry->key = key;
      return;
    }
    key = Key(key, ReadWord(start.sp + entry->count));
  }
}

}  // namespace memprof::recorder
