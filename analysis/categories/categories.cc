// Concludes categories from phases, lifetimes, sizes and names.
#include "analysis/categories/categories.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "analysis/categories/internal/held.h"
#include "analysis/categories/internal/kinds.h"
#include "analysis/categories/internal/named_state.h"
#include "analysis/categories/phases.h"
#include "analysis/categories/stacks.h"
#include "analysis/categories/units.h"
#include "analysis/categories/words.h"

namespace memprof::analysis {
namespace {

// How far each kind of evidence is trusted; measured in docs/categories.md.
constexpr float kByName = 0.99f, kByStack = 0.9f, kByRange = 0.8f, kByLifetime = 0.6f;
constexpr float kAgreed = 0.07f;  // added if the shape of the memory in use agrees
constexpr float kGuess = 0.4f;
constexpr float kScratchBySize = 0.7f;
constexpr std::uint8_t kOften = 3;  // steps that make something of a kind that stays

float Trust(const UnitPhase& phase) {
  float trust = phase.reason == CategoryReason::kStack   ? kByStack
                : phase.reason == CategoryReason::kRange ? kByRange
                                                         : kByLifetime;
  if (phase.agreed) trust += kAgreed;
  return trust;
}

class Judge {
 public:
  Judge(const Session& session, Symbols* symbols, const CategoryOptions& options)
      : session_(session),
        options_(options),
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

  const std::vector<CategoryUnit>& units() const { return units_; }

  CategoryVerdict Of(std::size_t u) const {
    if (options_.names) {
      if (const TensorInfo* tensor = TensorOf(units_[u])) {
        Category category = named_.CategoryOf(tensor->name);
        if (category == Category::kUnknown) category = CategoryOfTensorName(tensor->name);
        if (category != Category::kUnknown) return {category, CategoryReason::kName, kByName};
      }
    }
    CategoryVerdict verdict = units_[u].stays && IsState(units_[u]) ? OfState(u) : OfTransient(u);
    if (verdict.category == Category::kTemporaries && LivesToTheEnd(units_[u])) return {};
    if (verdict.reason != CategoryReason::kLifetime) return verdict;
    // Lifetimes are no evidence without steps, and neither is the birth of memory that every step
    // leaves behind between the passes.
    const bool left = units_[u].stays && !IsState(units_[u]);
    if (!runs_.at(units_[u].process).steps || (left && phases_[u].phase == Phase::kOptimizer))
      return {};
    if (left) verdict.confidence = std::min(verdict.confidence, kGuess);
    return verdict;
  }

 private:
  struct Run {                   // of a process
    EventId middle, last_birth;  // of its units
    std::size_t units = 0;
    bool steps = false;
  };
  using Size = std::pair<std::uint8_t, std::uint64_t>;  // of a process
  static Size SizeOf(const CategoryUnit& unit) { return {unit.process, unit.bytes}; }

  const TensorInfo* TensorOf(const CategoryUnit& unit) const {
    if (!unit.tensor.valid()) return nullptr;
    return session_.tensor(session_.record(unit.tensor).tensor());
  }

  bool HasSizeOfParameter(std::size_t u) const { return !ratios_.empty() && (ratios_[u] & 1) != 0; }
  bool IsState(const CategoryUnit& unit) const {
    if (unit.step < 0) return true;
    // Memory that a line allocates in every step is no state only because the last one is still
    // live.
    const CategoryKinds::Kind& kind = kinds_.Of(unit);
    const std::uint32_t made = kinds_.ByStack(unit) ? kind.steps_made : kind.steps_kept;
    return made < kOften && !Unfinished(unit);
  }
  // A run that ended within a step had no time to free the memory of that step.
  bool Unfinished(const CategoryUnit& unit) const {
    return unit.stays && unit.in_last_step && unit.step >= std::int32_t{kOften};
  }

  // Collects what stacks show about parameters and their gradients, before anything is judged.
  void FindEvidence() {
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
  // It was live for half of its process' run, which allocated nothing after it was freed.
  bool LivesToTheEnd(const CategoryUnit& unit) const {
    const Run& run = runs_.at(unit.process);
    return (!unit.death.valid() || unit.death > run.last_birth) && unit.birth < run.middle;
  }
  // Outside of a backward pass, whatever the shape of the memory in use suggests.
  bool OutsideBackward(std::size_t u) const {
    return phases_[u].reason == CategoryReason::kLifetime && stacks_.identify_backward() &&
           !stacks_.Of(units_[u].stack).backward;
  }

  // Memory from before the first step, if stacks identify other memory as parameters, or gradients:
  // a data set is no parameter, but a copy of parameters is one.
  CategoryVerdict OfSetUp(const CategoryUnit& unit, const CategoryStacks::Facts& facts) const {
    if (!parameter_sizes_.contains(SizeOf(unit)) && !gradient_sizes_.contains(SizeOf(unit)))
      return {Category::kInputs, CategoryReason::kLifetime, kByLifetime};
    if (facts.zeros) return {Category::kOptimizerState, CategoryReason::kSizes, kByLifetime};
    return {Category::kParameters, CategoryReason::kSizes, kByLifetime + kAgreed};
  }

  // Memory that stays to the end.
  CategoryVerdict OfState(std::size_t u) const {
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
      if (!parameter && named_.any()) return {};  // all parameters have a name
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
      return {Category::kGradients,
              facts.gradient ? CategoryReason::kStack : CategoryReason::kSizes, Trust(phase)};
    // Made when it was first needed, and kept; but not if another step makes one more.
    if (kinds_.Of(unit).steps_kept > 1) return OfTransient(u);
    return {Category::kWorkspaces, CategoryReason::kLifetime, kGuess};
  }

  // Memory that is allocated and freed, or left behind, step after step.
  CategoryVerdict OfTransient(std::size_t u) const {
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
    if (phase.reason == CategoryReason::kLifetime && kinds_.IsForPasses(unit))
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

  const Session& session_;
  const CategoryOptions options_;
  std::vector<CategoryUnit> units_;
  CategoryStacks stacks_;
  const NamedState named_;
  const ParameterSizes sizes_;
  const std::vector<std::uint8_t> ratios_;  // by unit: SizeRatios
  const CategoryKinds kinds_;
  const std::vector<bool> held_;  // by unit: HeldGradients
  std::vector<std::uint8_t> matches_;
  std::vector<UnitPhase> phases_;
  absl::flat_hash_set<Size> parameter_sizes_, gradient_sizes_;
  bool stacks_identify_ = false;  // which memory is a parameter
  absl::flat_hash_map<std::uint8_t, Run> runs_;
};

}  // namespace

std::string_view CategoryName(Category category) {
  static constexpr std::string_view kNames[kCategoryCount] = {
      "unknown", "parameters", "gradients",     "optimizer state", "activations",
      "inputs",  "workspaces", "communication", "temporaries",     "allocator slack"};
  const auto i = static_cast<std::size_t>(category);
  return i < kCategoryCount ? kNames[i] : kNames[0];
}

std::string_view CategoryKey(Category category) {
  if (category == Category::kOptimizerState) return "optimizer_state";
  return category == Category::kSlack ? "slack" : CategoryName(category);
}

std::string_view CategoryReasonText(CategoryReason reason) {
  switch (reason) {
    case CategoryReason::kNothing:
      return "no evidence";
    case CategoryReason::kName:
      return "the tensor's name";
    case CategoryReason::kStack:
      return "the call stack";
    case CategoryReason::kRange:
      return "a named range";
    case CategoryReason::kLifetime:
      return "its lifetime";
    case CategoryReason::kSizes:
      return "the size of a parameter";
  }
  return "no evidence";
}

std::string_view CategoryReasonKey(CategoryReason reason) {
  static constexpr std::string_view kKeys[] = {"none",  "name",     "stack",
                                               "range", "lifetime", "sizes"};
  const auto i = static_cast<std::size_t>(reason);
  return i < std::size(kKeys) ? kKeys[i] : kKeys[0];
}

std::uint64_t CategoryTotals::total() const {
  return std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0});
}

Categories::Categories(const Session& session, Symbols* symbols, const CategoryOptions& options)
    : session_(session), verdicts_(2), of_(session.records().size(), 0) {
  verdicts_[1] = {Category::kSlack, CategoryReason::kNothing, 1};
  const Judge judge(session, symbols, options);
  absl::flat_hash_map<std::tuple<Category, CategoryReason, long>, std::uint16_t> rows;
  CategoryVerdict last;  // mostly the next one, too
  std::uint16_t last_row = 0;
  const auto records = session.records();
  for (std::uint32_t i = 0; i < records.size(); ++i)
    if (OccupiesDevice(records[i].layer) || records[i].layer == Layer::kSegment) of_[i] = 1;
  for (std::size_t u = 0; u < judge.units().size(); ++u) {
    const CategoryVerdict verdict = judge.Of(u);
    if (last_row != 0 && verdict == last) {
      of_[judge.units()[u].id.value] = last_row;
      continue;
    }
    const auto key =
        std::tuple(verdict.category, verdict.reason, std::lround(verdict.confidence * 100));
    const auto [it, fresh] = rows.try_emplace(key, static_cast<std::uint16_t>(verdicts_.size()));
    if (fresh) verdicts_.push_back(verdict);
    last = verdict;
    of_[judge.units()[u].id.value] = last_row = it->second;
  }
  // Tensors are what the memory below them is. Parents come before their children.
  for (std::uint32_t i = 0; i < records.size(); ++i) {
    if (records[i].layer != Layer::kTensor || of_[i] != 0 || !records[i].parent.valid()) continue;
    const std::uint16_t below = of_[records[i].parent.value];
    of_[i] = below == 1 ? 0 : below;
  }
}

CategoryTotals Categories::At(int device, EventId event) const {
  CategoryTotals totals;
  absl::flat_hash_map<std::pair<std::uint32_t, std::uint16_t>, std::size_t> rows;
  std::uint64_t on_device = 0, known = 0;
  const auto is_judged = [this](AllocationId id) { return of_[id.value] != 1; };
  for (const AllocationId id : session_.LiveAfter(event)) {
    const AllocationRecord& a = session_.record(id);
    if (a.device != device) continue;
    const bool occupies = OccupiesDevice(a.layer);
    if (occupies) on_device += a.bytes;
    // A tensor counts where the memory below it is not judged itself.
    const bool tensor = a.layer == Layer::kTensor && a.parent.valid() &&
                        OccupiesDevice(session_.record(a.parent).layer) && !is_judged(a.parent);
    if (!tensor && (!is_judged(id) || (!occupies && a.layer != Layer::kBlock))) continue;
    const CategoryVerdict& verdict = Of(id);
    const auto c = static_cast<std::size_t>(verdict.category);
    totals.bytes[c] += a.bytes;
    ++totals.blocks[c];
    totals.confidence[c] += static_cast<double>(verdict.confidence) * static_cast<double>(a.bytes);
    known += a.bytes;
    const auto [it, fresh] =
        rows.try_emplace(std::pair(a.stack.value, of_[id.value]), totals.sites.size());
    if (fresh) totals.sites.push_back({a.stack, verdict, 0, 0});
    totals.sites[it->second].bytes += a.bytes;
    ++totals.sites[it->second].blocks;
  }
  constexpr auto kSlackRow = static_cast<std::size_t>(Category::kSlack);
  totals.bytes[kSlackRow] = on_device > known ? on_device - known : 0;
  for (std::size_t c = 0; c < kCategoryCount; ++c)
    if (totals.bytes[c] > 0) totals.confidence[c] /= static_cast<double>(totals.bytes[c]);
  totals.confidence[kSlackRow] = totals.bytes[kSlackRow] > 0 ? 1 : 0;
  std::stable_sort(totals.sites.begin(), totals.sites.end(),
                   [](const CategorySite& a, const CategorySite& b) { return a.bytes > b.bytes; });
  return totals;
}

}  // namespace memprof::analysis
