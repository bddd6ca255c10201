// Tries each remedy on the recorded run.
#include "analysis/remedies/remedies.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <map>
#include <memory>

#include "absl/strings/str_cat.h"
#include "analysis/allocators/changed_requests.h"
#include "analysis/base/units.h"
#include "analysis/remedies/internal/finders.h"

namespace memprof::analysis {
namespace remedies {
namespace {

constexpr std::size_t kExamples = 3;
constexpr std::size_t kCombined = 6;  // of the remedies that save most, all pairs and triples

// One device of one process.
class Trial {
 public:
  Trial(const Input& input, bool replay)
      : input_(input), session_(input.session), training_(input.training) {
    if (replay) reserved_ = ReservedReplay::Of(session_, training_.device, training_.process);
  }

  PeakSaving Saving(const BlockChanges& changes) const { return SavingOf(input_, changes); }
  // 0 without a replay.
  std::uint64_t Reserved(const BlockChanges& changes) const {
    return reserved_ == nullptr ? 0 : reserved_->With(RequestsOf(changes));
  }

  // Fills in all but what the finder set.
  void Finish(PeakRemedy* remedy) const {
    remedy->device = training_.device;
    std::sort(remedy->changes.gone.begin(), remedy->changes.gone.end());
    remedy->saving = Saving(remedy->changes);
    if (remedy->saving.saves_bytes == 0) return;
    remedy->reserved = Reserved({});
    remedy->new_reserved = Reserved(remedy->changes);
    remedy->ends_failures =
        reserved_ != nullptr && reserved_->EndsFailures(RequestsOf(remedy->changes));
    remedy->name = std::string(RemedyOfPeakName(remedy->kind));
    if (!remedy->subject.empty()) absl::StrAppend(&remedy->name, " of ", remedy->subject);
    Describe(remedy);
  }

  // Both; of a block that both change, the first one's change holds.
  static BlockChanges Together(const BlockChanges& a, const BlockChanges& b) {
    BlockChanges both = a;
    const auto in_a = [&](AllocationId id) {
      return id.valid() && std::binary_search(a.gone.begin(), a.gone.end(), id);
    };
    for (const HeldPiece& piece : b.added)
      if (!in_a(piece.of)) both.added.push_back(piece);
    both.gone.clear();
    std::set_union(a.gone.begin(), a.gone.end(), b.gone.begin(), b.gone.end(),
                   std::back_inserter(both.gone));
    return both;
  }

 private:
  RequestChanges RequestsOf(const BlockChanges& changes) const {
    RequestChanges requests;
    for (const AllocationId id : changes.gone) requests.gone.push_back(session_.record(id).birth);
    for (const HeldPiece& piece : changes.added)
      requests.added.push_back({piece.begin, piece.end, piece.bytes});
    return requests;
  }

  void Describe(PeakRemedy* remedy) const {
    std::map<StackId, std::uint64_t> by_stack;
    std::vector<AllocationId> live;
    for (const Block& block : training_.blocks) {
      if (!training_.LiveAtPeak(block) ||
          !std::binary_search(remedy->changes.gone.begin(), remedy->changes.gone.end(), block.id))
        continue;
      ++remedy->count;
      remedy->bytes += block.bytes;
      by_stack[block.stack] += block.bytes;
      live.push_back(block.id);
    }
    std::uint64_t most = 0;
    for (const auto& [stack, bytes] : by_stack) {
      if (bytes > most) remedy->stack = stack;
      most = std::max(most, bytes);
    }
    std::stable_sort(live.begin(), live.end(), [this](AllocationId a, AllocationId b) {
      return session_.record(a).bytes > session_.record(b).bytes;
    });
    remedy->seen = absl::StrCat(FormatNumberOf(remedy->count, "block"), " of ",
                                FormatBytes(remedy->bytes), " at the peak: ", remedy->seen, ".");
    live.resize(std::min(live.size(), kExamples));
    remedy->examples = std::move(live);
  }

  const Input& input_;
  const Session& session_;
  const Training& training_;
  std::unique_ptr<const ReservedReplay> reserved_;
};

// The best two and the best three of `found`, whose rows begin at `first`.
void Combine(const Trial& trial, const Found& found, std::size_t first,
             std::vector<PeakCombination>* combinations) {
  const std::size_t count = std::min(found.size(), kCombined);
  std::uint64_t best_single = found.empty() ? 0 : found[0].saving.saves_bytes;
  for (std::size_t size = 2; size <= 3 && size <= count; ++size) {
    PeakCombination best;
    BlockChanges best_changes;
    for (std::uint32_t set = 0; set < 1u << count; ++set) {
      if (static_cast<std::size_t>(std::popcount(set)) != size) continue;
      BlockChanges changes;
      PeakCombination combination;
      for (std::size_t i = 0; i < count; ++i) {
        if ((set >> i & 1) == 0) continue;
        changes = Trial::Together(changes, found[i].changes);
        combination.remedies.push_back(first + i);
      }
      combination.saving = trial.Saving(changes);
      if (combination.saving.saves_bytes <= best.saving.saves_bytes) continue;
      best = std::move(combination);
      best_changes = std::move(changes);
    }
    if (best.saving.saves_bytes <= best_single) break;
    best_single = best.saving.saves_bytes;
    best.new_reserved = trial.Reserved(best_changes);
    combinations->push_back(std::move(best));
  }
}

}  // namespace

PeakSaving SavingOf(const Input& input, const BlockChanges& changes) {
  std::vector<LevelChange> level;
  level.reserve(changes.gone.size() + changes.added.size());
  for (const AllocationId id : changes.gone) level.push_back(Removed(input.session.record(id)));
  for (const HeldPiece& piece : changes.added)
    level.push_back({piece.begin, piece.end, static_cast<std::int64_t>(piece.bytes)});
  const std::uint64_t before = input.training.level->peak().bytes;
  const NewPeak then = input.training.level->With(level);
  return {then, before - std::min(before, then.bytes)};
}

SourceFrame PythonFrameIn(Symbols& symbols, StackId stack, std::string_view file) {
  for (SourceFrame& frame : symbols.ResolveStack(stack))
    if (frame.python && frame.file.find(file) != std::string::npos) return std::move(frame);
  return {};
}

}  // namespace remedies

std::string_view RemedyOfPeakName(RemedyOfPeak kind) {
  switch (kind) {
    case RemedyOfPeak::kFusedStep:
      return "an optimizer with fused=True";
    case RemedyOfPeak::kFreedGradients:
      return "zero_grad(set_to_none=True) after each step";
    case RemedyOfPeak::kChunkedLoss:
      return "the head and the loss in pieces";
    case RemedyOfPeak::kBucketViews:
      return "gradient_as_bucket_view=True";
    case RemedyOfPeak::kCheckpointing:
      return "checkpointing";
    case RemedyOfPeak::kSmallBatches:
      return "each batch in two halves";
    case RemedyOfPeak::kSmallState:
      return "optimizer state of 8 bits";
    case RemedyOfPeak::kNoState:
      return "optimizer state on the host";
  }
  return "";
}

PeakRemedies FindPeakRemedies(const Session& session, Symbols* symbols,
                              const Categories& categories, const PeakLevels& levels, bool replay) {
  PeakRemedies result;
  for (const remedies::Training& training :
       remedies::FindTrainings(session, symbols, categories, levels)) {
    const remedies::Input input{session, *symbols, training};
    remedies::Found found;
    for (const auto find : {remedies::FindOptimizerRemedies, remedies::FindGradientRemedies,
                            remedies::FindLossRemedies, remedies::FindCheckpointing})
      find(input, &found);
    const remedies::Trial trial(input, replay);
    for (PeakRemedy& remedy : found) trial.Finish(&remedy);
    std::erase_if(found, [](const PeakRemedy& r) { return r.saving.saves_bytes == 0; });
    std::stable_sort(found.begin(), found.end(), [](const PeakRemedy& a, const PeakRemedy& b) {
      return a.saving.saves_bytes > b.saving.saves_bytes;
    });
    remedies::Combine(trial, found, result.remedies.size(), &result.combinations);
    std::move(found.begin(), found.end(), std::back_inserter(result.remedies));
  }
  return result;
}

}  // namespace memprof::analysis
