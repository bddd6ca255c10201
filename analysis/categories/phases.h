// When in its step each piece of memory is made, from the best evidence that there is.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "analysis/categories/stacks.h"
#include "analysis/categories/units.h"

namespace memprof::analysis {

struct UnitPhase {
  Phase phase = Phase::kNone;
  CategoryReason reason = CategoryReason::kNothing;
  bool agreed = false;  // by the slope as well
};

// What open ranges say at each unit's birth: those of its thread, innermost first, else the last
// one that another thread opened (backward passes have threads of their own). O(events).
std::vector<Phase> RangePhases(const Session& session, const std::vector<CategoryUnit>& units);

// Sizes that parameters have: of units that are there before the first step and stay. Each process
// has its own: what one rank holds says nothing of the layers of another.
class ParameterSizes {
 public:
  explicit ParameterSizes(const std::vector<CategoryUnit>& units);
  bool empty() const { return sizes_.empty(); }
  // Distinct ones of the unit's process.
  std::size_t CountFor(const CategoryUnit& unit) const { return SizesFor(unit).size(); }
  // Elements of another precision: `numerator` / `denominator` of a parameter's bytes.
  bool Has(const CategoryUnit& unit, unsigned numerator = 1, unsigned denominator = 1) const;
  // Also where a caching allocator gave a block of more than a MiB whole, because less than that
  // would have been left: up to a third more than a parameter's bytes, or less.
  bool HasNearly(const CategoryUnit& unit) const;

 private:
  const std::vector<std::uint64_t>& SizesFor(const CategoryUnit& unit) const;

  // By process: ascending, distinct.
  absl::flat_hash_map<std::uint8_t, std::vector<std::uint64_t>> sizes_;
};

// Units whose sizes are those of parameters, though they are made within steps: 1 = of the same
// precision, 2 = of twice, 3 = of half the bytes; 0 = no. By site and process: most that is made
// must fit. Scratch does not count, and what does not outlive its hill neither, once hills are
// read.
std::vector<std::uint8_t> MatchSizes(const std::vector<CategoryUnit>& units,
                                     const CategoryStacks& stacks, const ParameterSizes& sizes,
                                     bool hills_read);

// Corrects slopes by what is certain: backward passes begin with the first gradient of a hill, and
// a call stack makes memory in one phase.
void RefineSlopes(const std::vector<std::uint8_t>& matches, const CategoryOptions& options,
                  std::vector<CategoryUnit>* units);

std::vector<UnitPhase> FindPhases(const Session& session, const std::vector<CategoryUnit>& units,
                                  const CategoryStacks& stacks, const CategoryOptions& options);

}  // namespace memprof::analysis
