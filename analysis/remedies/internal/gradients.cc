// Gradients that live longer than needed, or twice; and gradients of two halves of the batch.
#include <map>
#include <string>
#include <tuple>

#include "analysis/remedies/internal/finders.h"

namespace memprof::analysis::remedies {
namespace {

constexpr std::uint64_t Half(std::uint64_t bytes) { return (bytes / 2 + 511) / 512 * 512; }

bool InPass(const Training& training, const Block& block) {
  return block.pass < training.passes.size() && block.birth >= training.passes[block.pass].forward;
}

bool ReachesOptimizer(const Training& training, const Block& gradient) {
  const Pass& pass = training.passes[gradient.pass];
  return gradient.death > (pass.after < pass.end ? pass.after : pass.last_backward);
}

// Whether the optimizer stepped between a pass and the next one.
bool SteppedAfter(const Input& input, std::size_t pass) {
  const std::vector<Pass>& passes = input.training.passes;
  if (passes[pass].after < passes[pass].end) return true;
  return input.session.StepOf(passes[pass].forward) !=
         input.session.StepOf(passes[pass + 1].forward);
}

// The blocks of a call site and size within a pass, in order of birth.
using Fresh = std::map<std::tuple<std::uint32_t, StackId, std::uint64_t>, std::vector<std::size_t>>;

// In a pass, autograd makes a new gradient and adds it to the one that was kept: that new one, the
// `number`-th of its site.
const Block* FreshOf(const Training& training, const Fresh& fresh, const Block& kept,
                     std::uint32_t pass, std::size_t number) {
  const auto at = fresh.find({pass, kept.stack, kept.bytes});
  if (at == fresh.end() || number >= at->second.size()) return nullptr;
  return &training.blocks[at->second[number]];
}

void FindFreedGradients(const Input& input, Found* found) {
  const Training& training = input.training;
  const std::vector<Pass>& passes = training.passes;
  Fresh fresh;
  PeakRemedy remedy{.kind = RemedyOfPeak::kFreedGradients, .predicts = true};
  BlockChanges& changes = remedy.changes;
  for (std::size_t i = 0; i < training.blocks.size(); ++i) {
    const Block& block = training.blocks[i];
    if (block.part == Part::kBackward && InPass(training, block))
      fresh[{block.pass, block.stack, block.bytes}].push_back(i);
  }
  std::map<std::tuple<std::uint32_t, StackId, std::uint64_t>, std::size_t> number;
  for (const Block& block : training.blocks) {
    if (block.part != Part::kBackward || !InPass(training, block)) continue;
    const std::size_t mine = number[{block.pass, block.stack, block.bytes}]++;
    const std::size_t next = block.pass + 1;
    if (block.category != Category::kGradients || next >= passes.size() ||
        block.death <= passes[next].forward || !SteppedAfter(input, block.pass))
      continue;
    changes.gone.push_back(block.id);
    changes.added.push_back({block.birth, passes[block.pass].end, block.bytes, block.id});
    for (std::size_t p = next; p < passes.size() && block.death > passes[p].backward; ++p) {
      const Block* again = FreshOf(training, fresh, block, static_cast<std::uint32_t>(p), mine);
      if (again != nullptr) changes.gone.push_back(again->id);
      changes.added.push_back({again != nullptr ? again->birth : passes[p].backward, passes[p].end,
                               block.bytes, again != nullptr ? again->id : block.id});
    }
  }
  if (changes.gone.empty()) return;
  remedy.seen = "gradients that live on through the next forward pass, which does not need them";
  remedy.change =
      "Call optimizer.zero_grad(set_to_none=True), the default, right after optimizer.step().";
  found->push_back(std::move(remedy));
}

void FindSmallBatches(const Input& input, Found* found) {
  const Training& training = input.training;
  PeakRemedy remedy{.kind = RemedyOfPeak::kSmallBatches, .predicts = true};
  BlockChanges& changes = remedy.changes;
  for (const Block& block : training.blocks) {
    if (!InPass(training, block)) continue;
    switch (block.category) {
      case Category::kActivations:
      case Category::kInputs:
        break;
      case Category::kTemporaries:
        if (block.part != Part::kOptimizer) break;
        continue;
      case Category::kGradients:
        if (!ReachesOptimizer(training, block)) continue;  // one of several that are added up
        // The first half's gradients live through the second half, whose own are added at once.
        changes.gone.push_back(block.id);
        changes.added.push_back(
            {training.passes[block.pass].forward, block.death, block.bytes, block.id});
        changes.added.push_back({block.birth, After(block.birth), block.bytes, block.id});
        continue;
      default:
        continue;
    }
    changes.gone.push_back(block.id);
    changes.added.push_back({block.birth, block.death, Half(block.bytes), block.id});
  }
  remedy.seen = "activations, inputs and gradients of activations, which grow with the batch";
  remedy.change =
      "Run each batch as two halves: model and loss / 2, backward() for each, then one "
      "optimizer.step(). Memory as with half the batch, and the gradients of the first half.";
  remedy.assumption =
      "All of them are proportional to the batch ('memprof footprint' knows better, from a run "
      "with another batch). Batch normalisation sees halves.";
  found->push_back(std::move(remedy));
}

bool ByReducer(Symbols& symbols, StackId stack) {
  for (const SourceFrame& frame : symbols.ResolveStack(stack))
    if (frame.function.starts_with("c10d::Reducer::")) return true;
  return false;
}

void FindBucketViews(const Input& input, Found* found) {
  std::map<StackId, bool> by_reducer;
  std::uint64_t buckets = 0;
  PeakRemedy remedy{.kind = RemedyOfPeak::kBucketViews};
  for (const Block& block : input.training.blocks) {
    if (block.category == Category::kGradients && InPass(input.training, block)) {
      remedy.changes.gone.push_back(block.id);
      remedy.changes.added.push_back({block.birth, After(block.birth), block.bytes, block.id});
    } else if (input.training.LiveAtPeak(block)) {
      const auto [it, first] = by_reducer.try_emplace(block.stack, false);
      if (first) it->second = ByReducer(input.symbols, block.stack);
      if (it->second) buckets += block.bytes;
    }
  }
  if (buckets == 0) return;
  remedy.seen = "gradients, each of which is also in a bucket of DistributedDataParallel";
  remedy.change =
      "Construct DistributedDataParallel with gradient_as_bucket_view=True: gradients then lie in "
      "the buckets.";
  found->push_back(std::move(remedy));
}

}  // namespace

void FindGradientRemedies(const Input& input, Found* found) {
  FindFreedGradients(input, found);
  FindSmallBatches(input, found);
  FindBucketViews(input, found);
}

}  // namespace memprof::analysis::remedies
