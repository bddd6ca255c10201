// Reads stacks once each.
#include "analysis/category_stacks.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"

namespace memprof::analysis {
namespace {

// Fewer stacks than these have no plumbing in common that could be told from purpose.
constexpr std::size_t kFewStacks = 8;

void ReadSymbols(Symbols& symbols, StackId stack, CategoryStacks::Facts* facts) {
  for (const SourceFrame& frame : symbols.ResolveStack(stack)) {
    if (facts->phase == Phase::kNone && frame.function.find("zeros_like") != std::string::npos)
      facts->zeros = true;
    const Phase phase = PhaseOfFrame(frame);
    facts->backward |= phase == Phase::kBackward;
    if (phase == Phase::kNone || facts->phase != Phase::kNone) continue;
    if (phase == Phase::kGradient || phase == Phase::kParameter)  // what for; when, its callers say
      (phase == Phase::kGradient ? facts->gradient : facts->parameter) = true;
    else
      facts->phase = phase;
  }
}

}  // namespace

CategoryStacks::CategoryStacks(const Session& session, Symbols* symbols,
                               const std::vector<CategoryUnit>& units)
    : row_(session.stack_count(), 0), facts_(1) {
  std::vector<StackId> stacks;
  for (const CategoryUnit& unit : units) {
    if (unit.stack.value >= row_.size() || row_[unit.stack.value] != 0) continue;
    stacks.push_back(unit.stack);
    row_[unit.stack.value] = static_cast<std::uint32_t>(stacks.size());
  }
  facts_.resize(stacks.size() + 1);
  absl::flat_hash_map<std::uint32_t, std::uint32_t> through;  // stacks, by frame
  std::vector<std::vector<FrameId>> frames;
  for (const StackId stack : stacks) {
    frames.push_back(session.StackFrames(stack));
    std::vector<FrameId> distinct = frames.back();
    std::sort(distinct.begin(), distinct.end());
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    for (const FrameId frame : distinct) ++through[frame.value];
  }
  for (std::size_t i = 0; i < stacks.size(); ++i) {
    Facts& facts = facts_[i + 1];
    if (symbols != nullptr) ReadSymbols(*symbols, stacks[i], &facts);
    tell_parameters_ |= facts.parameter;
    tell_backward_ |= facts.backward;
    std::size_t at = 0;
    if (stacks.size() >= kFewStacks) {
      while (at < frames[i].size() && through[frames[i][at].value] * 4 > stacks.size()) ++at;
    }
    if (at >= frames[i].size()) continue;
    facts.site = frames[i][at].value;
    const std::uint32_t caller = at + 1 < frames[i].size() ? frames[i][at + 1].value : kNone;
    facts.leaf = (std::uint64_t{facts.site} << 32) | caller;
  }
}

}  // namespace memprof::analysis
