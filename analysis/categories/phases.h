// In which phase of its step each unit is allocated, from the best evidence in the log.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "analysis/categories/stacks.h"
#include "analysis/categories/units.h"

namespace memprof::analysis {

struct UnitPhase {
  Phase phase = Phase::kNone;
  CategoryReason reason = CategoryReason::kNothing;
  bool agreed = false;  // confirmed by the slope
};

// The phase of the open ranges at each unit's birth: of its own thread, the innermost first; else
// of the last one that another thread opened (backward passes run on threads of their own).
// O(events).
std::vector<Phase> RangePhases(const Session& session, const std::vector<CategoryUnit>& units);

// The sizes of parameters: of units that exist before the first step and stay. Separate for each
// process, because ranks may hold different layers.
class ParameterSizes {
 public:
  explicit ParameterSizes(const std::vector<CategoryUnit>& units);
  bool empty() const { return sizes_.empty(); }
  // Distinct sizes of the unit's process.
  std::size_t CountFor(const CategoryUnit& unit) const { return SizesFor(unit).size(); }
  // Whether it is `numerator` / `denominator` of a parameter's size, as in another precision.
  bool Has(const CategoryUnit& unit, unsigned numerator = 1, unsigned denominator = 1) const;
  // Also true if the sizes differ by less than a MiB, and by less than a quarter of the unit's: a
  // caching allocator uses a block whole if less than a MiB would remain. Only for more than a MiB.
  bool HasNearly(const CategoryUnit& unit) const;

 private:
  const std::vector<std::uint64_t>& SizesFor(const CategoryUnit& unit) const;

  // By process: ascending, distinct.
  absl::flat_hash_map<std::uint8_t, std::vector<std::uint64_t>> sizes_;
};

// By unit: of which parts of a parameter's size it is, as bits: 1 = all of it, 2 = twice, 4 = half.
// Empty if no sizes are known.
std::vector<std::uint8_t> SizeRatios(const std::vector<CategoryUnit>& units,
                                     const ParameterSizes& sizes);

// By unit: whether it has the size of a parameter, though it is made within steps: 1 = of the same
// precision, 2 = of twice, 3 = of half the bytes; 0 = no. Decided for each site and process: most
// of its units must fit. Scratch does not count, and neither do units that die with their hill,
// once hills are known. `ratios`: SizeRatios.
std::vector<std::uint8_t> MatchSizes(const std::vector<CategoryUnit>& units,
                                     const CategoryStacks& stacks,
                                     std::span<const std::uint8_t> ratios, bool hills_read);

// Corrects slopes by certain evidence: a backward pass begins with the first gradient of a hill,
// and all memory of a call stack is allocated in one phase.
void RefineSlopes(const std::vector<std::uint8_t>& matches, const CategoryOptions& options,
                  std::vector<CategoryUnit>* units);

std::vector<UnitPhase> FindPhases(const Session& session, const std::vector<CategoryUnit>& units,
                                  const CategoryStacks& stacks, const CategoryOptions& options);

}  // namespace memprof::analysis
