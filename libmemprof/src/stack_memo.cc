// Compares words instead of walking.
#include "libmemprof/src/stack_memo.h"

#include <string.h>

namespace memprof::recorder {
namespace {

// The words lie on the program's stack, in frames that are not ours.
__attribute__((no_sanitize("address", "thread", "undefined"))) bool AllAsTheyWere(
    std::uint64_t sp, const StackWord* words, std::uint32_t count) {
  std::uint64_t difference = 0;
  // No early end: what differs differs early or late, and without branches this is twice as fast.
  for (std::uint32_t i = 0; i < count; ++i)
    difference |= *reinterpret_cast<const std::uint64_t*>(sp + words[i].offset) ^ words[i].value;
  return difference == 0;
}

}  // namespace

void StackMemo::Reset(std::uint32_t generation) {
  ++epoch_;  // entries start with 0, which is thus never current
  generation_ = generation;
}

bool StackMemo::Find(const Registers& start, Result* result) const {
  const Entry& entry = entries_[Place(start)];
  if (entry.pc != start.pc || entry.sp != start.sp || entry.epoch != epoch_ || epoch_ == 0 ||
      next_word_ - entry.first > kWords || (entry.uses_frame_pointer && entry.bp != start.bp) ||
      !AllAsTheyWere(start.sp, words_ + entry.first % kWords, entry.count))
    return false;
  *result = {entry.stack, entry.truncated};
  return true;
}

void StackMemo::Store(const Registers& start, const StackWalk& walk, const Result& result) {
  const auto count = static_cast<std::uint32_t>(walk.word_count);
  if (count > kWords || epoch_ == 0) return;
  // In one piece: skip the rest of the ring where it does not fit.
  if (next_word_ % kWords + count > kWords) next_word_ += kWords - next_word_ % kWords;
  memcpy(words_ + next_word_ % kWords, walk.words, count * sizeof(StackWord));
  entries_[Place(start)] = {start.pc,        start.sp, start.bp,     next_word_,
                            epoch_,          count,    result.stack, walk.uses_frame_pointer,
                            result.truncated};
  next_word_ += count;
}

}  // namespace memprof::recorder
