// Concludes categories from phases, lifetimes, sizes and names.
#include "analysis/categories/internal/judge.h"

#include <algorithm>

#include "analysis/categories/internal/held.h"
#include "analysis/categories/words.h"

namespace memprof::analysis {
namespace {

// How far each kind of evidence is trusted; measured in docs/categories.md.
constexpr float kByName = 0.99f, kByStack = 0.9f, kByRange = 0.8f, kByLifetime = 0.6f;
constexpr float kAgreed = 0.07f;  // added if the shape of the memory in use agrees
constexpr float kGuess = 0.4f;
constexpr float kScratchBySize = 0.7f;

float Trust(const UnitPhase& phase) {
  float trust = phase.reason == CategoryReason::kStack   ? kByStack
                : phase.reason == CategoryReason::kRange ? kByRange
                                                         : kByLifetime;
  if (phase.agreed) trust += kAgreed;
  return trust;
}

}  // namespace

Judge::Judge(const Session& session, Symbols* symbols, const CategoryOptions& options)
    : session_(session),
      options_(options),
      failed_(session.EndsWithFailure()),
      ended_(session.run().complete && !failed_),
      units_(FindCategoryUnits(
          session, options.steps != nullptr ? std::span(*options.steps) : session.steps())),
      stacks_(session, options.symbols ? symbols : nullptr,
              options.stacks ? std::span(units_) : std::span<const CategoryUnit>()),
      named_(session),
      sizes_(units_),
      ratios_(SizeRatios(units_, sizes_)),
      kinds_(units_, stacks_, sizes_, ratios_, options.stacks),
      held_(HeldGradients(units_, stacks_, sizes_)),
      matches_(units_.size(), 0) {
  for (const CategoryUnit& unit : units_)
    if (session.record(unit.id).layer == Layer::kBlock) with_blocks_.insert(unit.place());
  std::vector<bool> apart;
  absl::flat_hash_set<std::uint8_t> gradients_apart;
  for (const std::uint8_t match : MatchSizes(units_, stacks_, ratios_, false)) {
    const CategoryUnit& unit = units_[apart.size()];
    if (match != 0) gradients_apart.insert(unit.process);
    apart.push_back(match != 0 || stacks_.Of(unit.stack).phase == Phase::kWorkspace);
  }
  ReadHills(session, apart, gradients_apart, &units_);
  matches_ = MatchSizes(units_, stacks_, ratios_, true);
  RefineSlopes(matches_, options, &units_);
  phases_ = FindPhases(session, units_, stacks_, options);
  FindEvidence();
}

CategoryVerdict Judge::Of(std::size_t u) const {
  if (options_.names) {
    if (const TensorInfo* tensor = TensorOf(units_[u])) {
      Category category = named_.CategoryOf(tensor->name);
      if (category == Category::kUnknown) category = CategoryOfTensorName(tensor->name);
      if (category != Category::kUnknown) return {category, CategoryReason::kName, kByName};
    }
  }
  CategoryVerdict verdict = units_[u].stays && IsState(units_[u]) ? OfState(u) : OfTransient(u);
  if (OutlivesPasses(units_[u], verdict.category)) return {};
  const bool by_shape =
      verdict.reason == CategoryReason::kLifetime || verdict.reason == CategoryReason::kSizes;
  if (by_shape && IsBesideBlocks(units_[u]) &&
      (verdict.category != Category::kWorkspaces || units_[u].stays))
    return {};
  if (verdict.reason != CategoryReason::kLifetime) return verdict;
  // Lifetimes are no evidence without steps, and neither is the birth of memory that every step
  // leaves behind between the passes.
  const bool left = units_[u].stays && !IsState(units_[u]);
  if (!runs_.at(units_[u].process).steps || (left && phases_[u].phase == Phase::kOptimizer))
    return {};
  if (left) verdict.confidence = std::min(verdict.confidence, kGuess);
  return verdict;
}

CategoryVerdict Judge::NoGradient(std::size_t u) {
  held_[u] = false;
  matches_[u] = 0;
  return Of(u);
}

void Judge::FindEvidence() {
  for (std::size_t u = 0; u < units_.size(); ++u) {
    const CategoryUnit& unit = units_[u];
    Run& run = runs_[unit.process];
    ++run.units;
    run.last_birth = unit.birth;
    run.steps = unit.step >= 0;
    if (unit.step < 0 && stacks_.Of(unit.stack).parameter) parameter_sizes_.insert(SizeOf(unit));
    const bool matched = matches_[u] != 0 && unit.outlives_hill;
    if ((matched || held_[u]) && phases_[u].phase == Phase::kBackward)
      gradient_sizes_.insert(SizeOf(unit));
  }
  absl::flat_hash_map<std::uint8_t, std::size_t> seen;
  for (const CategoryUnit& unit : units_) {
    Run& run = runs_[unit.process];
    if (seen[unit.process]++ == run.units / 2) run.middle = unit.birth;
  }
  stacks_identify_ =
      stacks_.identify_parameters() || (stacks_.identify_backward() && !gradient_sizes_.empty());
}

CategoryVerdict Judge::OfSetUp(const CategoryUnit& unit, const CategoryStacks::Facts& facts) const {
  if (!parameter_sizes_.contains(SizeOf(unit)) && !gradient_sizes_.contains(SizeOf(unit))) {
    // A program that never goes backward may hold caches and tables rather than data.
    if (!stacks_.identify_backward()) return {};
    return {Category::kInputs, CategoryReason::kLifetime, kByLifetime};
  }
  if (facts.zeros) return {Category::kOptimizerState, CategoryReason::kSizes, kByLifetime};
  return {Category::kParameters, CategoryReason::kSizes, kByLifetime + kAgreed};
}

CategoryVerdict Judge::OfState(std::size_t u) const {
  const CategoryUnit& unit = units_[u];
  const UnitPhase& phase = phases_[u];
  const CategoryStacks::Facts& facts = stacks_.Of(unit.stack);
  const bool by_stack = phase.reason == CategoryReason::kStack;
  if (by_stack && phase.phase == Phase::kOptimizer)
    return {Category::kOptimizerState, phase.reason, Trust(phase)};
  if (by_stack && phase.phase == Phase::kCommunication)
    return {Category::kCommunication, phase.reason, Trust(phase)};
  if (by_stack && phase.phase == Phase::kWorkspace)
    return {Category::kWorkspaces, phase.reason, Trust(phase)};
  if (unit.step < 0) {
    const bool parameter = facts.parameter;
    // Where parameters have names, all have one.
    if (!parameter && (named_.any() || IsBesideBlocks(unit))) return {};
    const bool pass = phase.phase == Phase::kForward || phase.phase == Phase::kBackward;
    if (by_stack && pass && !runs_.at(unit.process).steps) return OfTransient(u);
    if (!parameter && stacks_identify_) return OfSetUp(unit, facts);
    return {Category::kParameters, parameter ? CategoryReason::kStack : CategoryReason::kLifetime,
            parameter ? kByStack : kByLifetime + kAgreed};
  }
  if (matches_[u] != 0 && OutsideBackward(u) && kinds_.IsReplacedNowAndThen(unit))
    return {Category::kParameters, CategoryReason::kSizes, Trust(phase)};
  if (phase.phase == Phase::kOptimizer || (matches_[u] != 0 && OutsideBackward(u)))
    return {Category::kOptimizerState, matches_[u] != 0 ? CategoryReason::kSizes : phase.reason,
            Trust(phase)};
  if (facts.gradient || ((matches_[u] != 0 || held_[u]) && phase.phase == Phase::kBackward))
    return {Category::kGradients, facts.gradient ? CategoryReason::kStack : CategoryReason::kSizes,
            Trust(phase)};
  // Made when it was first needed, and kept; but not if another step makes one more.
  if (kinds_.Of(unit).steps_kept > 1) return OfTransient(u);
  return {Category::kWorkspaces, CategoryReason::kLifetime, kGuess};
}

CategoryVerdict Judge::OfTransient(std::size_t u) const {
  const CategoryUnit& unit = units_[u];
  const UnitPhase& phase = phases_[u];
  const CategoryStacks::Facts& facts = stacks_.Of(unit.stack);
  if (facts.gradient) return {Category::kGradients, CategoryReason::kStack, kByStack};
  switch (phase.phase) {
    case Phase::kInput:
      return {Category::kInputs, phase.reason, Trust(phase)};
    case Phase::kCommunication:
      // What a backward pass reduces and leaves to the optimizer (FSDP's sharded gradients).
      if (held_[u]) return {Category::kGradients, phase.reason, Trust(phase)};
      return {Category::kCommunication, phase.reason, Trust(phase)};
    case Phase::kWorkspace:
      return {Category::kWorkspaces, phase.reason, Trust(phase)};
    default:
      break;
  }
  if (facts.parameter) return {Category::kParameters, CategoryReason::kStack, kByStack};
  // A state that every step replaces, or a copy of the parameters that some steps make.
  if (kinds_.Crosses(unit) && HasSizeOfParameter(u) && kinds_.HasSizesOfParameters(unit) &&
      OutsideBackward(u))
    return {kinds_.IsReplacedNowAndThen(unit) ? Category::kParameters : Category::kOptimizerState,
            CategoryReason::kSizes, Trust(phase)};
  if (phase.phase == Phase::kOptimizer && phase.reason == CategoryReason::kStack &&
      kinds_.Crosses(unit))
    return {Category::kOptimizerState, phase.reason, Trust(phase)};
  if (phase.reason == CategoryReason::kLifetime && kinds_.IsForPasses(unit) &&
      !IsBesideBlocks(unit))
    return {Category::kInputs, CategoryReason::kStack, kByLifetime};
  if (held_[u] && phase.phase == Phase::kBackward)
    return {Category::kGradients, CategoryReason::kSizes, Trust(phase)};
  if (matches_[u] != 0 && unit.outlives_hill && !Unfinished(unit)) {
    if (phase.phase == Phase::kBackward)
      return {Category::kGradients, CategoryReason::kSizes, Trust(phase)};
    if (phase.phase == Phase::kForward && matches_[u] != 1)  // a copy of another precision
      return {Category::kParameters, CategoryReason::kSizes, Trust(phase)};
  }
  if (unit.scratch && (phase.phase == Phase::kForward || phase.phase == Phase::kBackward))
    return {Category::kWorkspaces, CategoryReason::kLifetime, kScratchBySize};
  switch (phase.phase) {
    case Phase::kForward:
      return {Category::kActivations, phase.reason, Trust(phase)};
    case Phase::kBackward:
    case Phase::kOptimizer:
      return {Category::kTemporaries, phase.reason, Trust(phase)};
    case Phase::kSetUp:
      return {Category::kTemporaries, CategoryReason::kLifetime, kGuess};
    default:
      return {};
  }
}

}  // namespace memprof::analysis
