// Activation checkpointing: a module's activations are freed when its forward pass returns, and
// computed again, all of them, when its backward pass begins.
#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analysis/base/units.h"
#include "analysis/remedies/internal/finders.h"
#include "analysis/remedies/internal/invocations.h"

namespace memprof::analysis::remedies {
namespace {

class Checkpointing {
 public:
  Checkpointing(const Input& input, const Invocations& invocations)
      : training_(input.training), invocations_(invocations), deaths_(training_.passes.size()) {
    for (const Block& block : training_.blocks)
      if (IsSaved(block)) deaths_[block.pass].push_back(block.death);
    for (std::vector<EventId>& deaths : deaths_) std::sort(deaths.begin(), deaths.end());
  }

  // As if the modules of `function` were checkpointed.
  BlockChanges Of(std::uint32_t function) const {
    BlockChanges changes;
    std::size_t covered = 0;  // blocks before this one belong to an outer call of the function
    for (const Invocation& call : invocations_.list) {
      if (call.function != function || call.first < covered) continue;
      covered = call.last + 1;
      Repeat(call, &changes);
    }
    return changes;
  }

 private:
  // Whether it is made in a forward pass, and kept for the backward pass.
  bool IsSaved(const Block& block) const {
    return block.part == Part::kForward && block.pass < training_.passes.size() &&
           block.birth >= training_.passes[block.pass].forward &&
           block.death >= training_.passes[block.pass].backward &&
           (block.death <= training_.passes[block.pass].end || RanOut(block));
  }

  // Whether the log ends within its pass.
  bool RanOut(const Block& block) const {
    return !block.death.valid() && block.pass + 1 == training_.passes.size();
  }

  // The block that the call returns: the last one that outlives it, and is none of the small
  // figures that an operator keeps for itself. Null if there is none.
  const Block* ResultOf(const Invocation& call, EventId returned) const {
    const Block* result = nullptr;
    std::uint64_t largest = 0;
    for (const std::uint32_t i : call.blocks) {
      const Block& block = training_.blocks[i];
      if (block.death > returned) largest = std::max(largest, block.bytes);
    }
    for (const std::uint32_t i : call.blocks) {
      const Block& block = training_.blocks[i];
      if (block.death > returned && block.bytes >= largest / 64) result = &block;
    }
    return result;
  }

  // What a call holds when it holds most of what it made, before it returns. O(blocks log blocks).
  std::vector<const Block*> MostWithin(const Invocation& call, EventId returned) const {
    using End = std::pair<EventId, std::uint64_t>;  // and its bytes
    std::priority_queue<End, std::vector<End>, std::greater<>> ends;
    std::uint64_t bytes = 0, highest = 0;
    EventId at;  // the birth that makes it most
    for (const std::uint32_t i : call.blocks) {
      const Block& block = training_.blocks[i];
      if (block.birth >= returned) break;
      for (; !ends.empty() && ends.top().first <= block.birth; ends.pop())
        bytes -= ends.top().second;
      ends.emplace(block.death, block.bytes);
      bytes += block.bytes;
      if (bytes <= highest) continue;
      highest = bytes;
      at = block.birth;
    }
    std::vector<const Block*> most;
    for (const std::uint32_t i : call.blocks) {
      const Block& block = training_.blocks[i];
      if (at.valid() && block.birth <= at && block.death > at) most.push_back(&block);
    }
    return most;
  }

  void Repeat(const Invocation& call, BlockChanges* changes) const {
    if (call.pass >= training_.passes.size() || call.last + 1 >= training_.blocks.size()) return;
    const EventId returned = training_.blocks[call.last + 1].birth;
    const Block* result = ResultOf(call, returned);
    EventId used;  // when the first of them is released
    std::vector<const Block*> saved;
    std::uint64_t bytes = 0;
    for (const std::uint32_t i : call.blocks) {
      const Block& block = training_.blocks[i];
      if (&block == result || !IsSaved(block)) continue;
      saved.push_back(&block);
      bytes += block.bytes;
      used = std::min(used, block.death);
    }
    if (saved.empty()) return;
    // Its backward pass begins after that of what follows it: with the last release before.
    const std::vector<EventId>& deaths = deaths_[call.pass];
    auto before = std::lower_bound(deaths.begin(), deaths.end(), used);
    EventId again = training_.passes[call.pass].backward;
    if (before != deaths.begin()) again = std::max(again, *std::prev(before));
    // A run that runs out of memory ends before.
    const bool runs_again = again < training_.blocks.back().birth;
    for (const Block* block : saved) {
      changes->gone.push_back(block->id);
      changes->added.push_back({block->birth, returned, block->bytes, block->id});
      if (runs_again) changes->added.push_back({again, block->death, block->bytes, block->id});
    }
    // While it runs again, it makes also what it does not keep.
    const std::vector<const Block*> most = MostWithin(call, returned);
    std::uint64_t room = 0;
    for (const Block* block : most) room += block->bytes;
    room -= std::min(room, bytes);
    for (const Block* block : most) {
      const std::uint64_t part = IsSaved(*block) ? 0 : std::min(room, block->bytes);
      if (part > 0 && runs_again) changes->added.push_back({again, After(again), part, {}});
      room -= part;
    }
    // The next module's input, from which that is computed again.
    if (result != nullptr && result->death < again) {
      changes->gone.push_back(result->id);
      changes->added.push_back({result->birth, again, result->bytes, result->id});
    }
  }

  const Training& training_;
  const Invocations& invocations_;
  std::vector<std::vector<EventId>> deaths_;  // of saved blocks, by pass
};

// Bytes less at the instant of the recorded peak.
std::uint64_t FreedAtPeak(const Input& input, const BlockChanges& changes) {
  const EventId peak = input.training.peak;
  std::uint64_t without = 0, with = 0;
  for (const AllocationId id : changes.gone) {
    const AllocationRecord& a = input.session.record(id);
    if (a.birth <= peak && peak < a.death) without += a.bytes;
  }
  for (const HeldPiece& piece : changes.added)
    if (piece.begin <= peak && peak < piece.end) with += piece.bytes;
  return without - std::min(without, with);
}

}  // namespace

void FindCheckpointing(const Input& input, Found* found) {
  const Invocations invocations = FindInvocations(input);
  std::map<std::uint32_t, std::uint64_t> calls;
  for (const Invocation& call : invocations.list) ++calls[call.function];
  const Checkpointing checkpointing(input, invocations);
  PeakRemedy best{.kind = RemedyOfPeak::kCheckpointing, .predicts = true};
  std::uint64_t most = 0, most_at_peak = 0, number = 0;
  for (const auto& [function, count] : calls) {
    if (count < 2 * input.training.passes.size()) continue;
    BlockChanges changes = checkpointing.Of(function);
    if (changes.gone.empty()) continue;
    std::sort(changes.gone.begin(), changes.gone.end());
    const std::uint64_t saves = SavingOf(input, changes).saves_bytes;
    // Where another instant limits several, the one that frees most leaves most to other remedies.
    const std::uint64_t at_peak = FreedAtPeak(input, changes);
    if (std::pair(saves, at_peak) <= std::pair(most, most_at_peak)) continue;
    most = saves;
    most_at_peak = at_peak;
    number = count / input.training.passes.size();
    best.changes = std::move(changes);
    best.subject = invocations.names[function].substr(0, invocations.names[function].rfind('.'));
  }
  if (most == 0) return;
  best.seen = absl::StrCat("activations of ", best.subject, ", which runs ",
                           FormatNumberOf(number, "time"), " in a forward pass");
  best.change = absl::StrCat(
      "Call each ", best.subject,
      " by torch.utils.checkpoint.checkpoint(module, x, use_reentrant=False), or switch it on "
      "where the library has it (Transformers: model.gradient_checkpointing_enable(); timm: "
      "model.set_grad_checkpointing()). Its forward pass then runs twice.");
  best.assumption = "It allocates the same when it runs again.";
  found->push_back(std::move(best));
}

}  // namespace memprof::analysis::remedies
