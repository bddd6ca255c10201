// Weighs the evidence on each unit of memory.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "analysis/categories/categories.h"
#include "analysis/categories/internal/kinds.h"
#include "analysis/categories/internal/named_state.h"
#include "analysis/categories/internal/surplus.h"
#include "analysis/categories/phases.h"
#include "analysis/categories/stacks.h"
#include "analysis/categories/units.h"

namespace memprof::analysis {

class Judge {
 public:
  Judge(const Session& session, Symbols* symbols, const CategoryOptions& options);

  const std::vector<CategoryUnit>& units() const { return units_; }
  std::vector<bool> Surplus(const std::vector<bool>& parameters,
                            const std::vector<bool>& gradients) const {
    return SurplusGradients(units_, parameters, gradients, held_);
  }
  // The verdict on a unit that would be one gradient too many.
  CategoryVerdict NoGradient(std::size_t u);

  CategoryVerdict Of(std::size_t u) const;

 private:
  static constexpr std::uint8_t kOften = 3;  // steps that make something of a kind that stays
  struct Run {                               // of a process
    EventId middle, last_birth;              // of its units
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
  // Memory of the driver beside the blocks of an allocator is an extension's own: neither its
  // lifetime nor its size says what of the training it is.
  bool IsBesideBlocks(const CategoryUnit& unit) const {
    return with_blocks_.contains(unit.place()) && session_.record(unit.id).layer != Layer::kBlock;
  }
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
  void FindEvidence();
  // It was live for half of its process' run, which allocated nothing after it was freed.
  bool LivesToTheEnd(const CategoryUnit& unit) const {
    const Run& run = runs_.at(unit.process);
    return (!unit.death.valid() || unit.death > run.last_birth) && unit.birth < run.middle;
  }
  // Whether it lives too long for what a pass needs or frees. A run that failed amid a pass had no
  // time to free that.
  bool OutlivesPasses(const CategoryUnit& unit, Category category) const {
    if (category == Category::kTemporaries)
      return (!unit.death.valid() && ended_) || (LivesToTheEnd(unit) && !failed_);
    return category == Category::kActivations && !runs_.at(unit.process).steps && !failed_ &&
           LivesToTheEnd(unit);
  }
  // Outside of a backward pass, whatever the shape of the memory in use suggests.
  bool OutsideBackward(std::size_t u) const {
    return phases_[u].reason == CategoryReason::kLifetime && stacks_.identify_backward() &&
           !stacks_.Of(units_[u].stack).backward;
  }

  // Memory from before the first step, if stacks identify other memory as parameters, or gradients:
  // a data set is no parameter, but a copy of parameters is one.
  CategoryVerdict OfSetUp(const CategoryUnit& unit, const CategoryStacks::Facts& facts) const;

  // Memory that stays to the end.
  CategoryVerdict OfState(std::size_t u) const;

  // Memory that is allocated and freed, or left behind, step after step.
  CategoryVerdict OfTransient(std::size_t u) const;

  const Session& session_;
  const CategoryOptions options_;
  const bool failed_;  // the run ended with a failed request
  const bool ended_;   // or by itself
  std::vector<CategoryUnit> units_;
  CategoryStacks stacks_;
  const NamedState named_;
  const ParameterSizes sizes_;
  const std::vector<std::uint8_t> ratios_;  // by unit: SizeRatios
  const CategoryKinds kinds_;
  std::vector<bool> held_;  // by unit: HeldGradients
  std::vector<std::uint8_t> matches_;
  std::vector<UnitPhase> phases_;
  absl::flat_hash_set<Size> parameter_sizes_, gradient_sizes_;
  bool stacks_identify_ = false;                    // which memory is a parameter
  absl::flat_hash_set<std::uint32_t> with_blocks_;  // places
  absl::flat_hash_map<std::uint8_t, Run> runs_;
};

}  // namespace memprof::analysis
