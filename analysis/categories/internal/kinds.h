// Groups allocations that are made alike in several steps: by one call stack, or by one size if
// there are no stacks.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "analysis/categories/phases.h"
#include "analysis/categories/stacks.h"
#include "analysis/categories/units.h"

namespace memprof::analysis {

// Immutable after construction, which is O(units).
class CategoryKinds {
 public:
  struct Kind {
    std::uint32_t steps_made = 0;  // steps that make any
    std::uint32_t steps_kept = 0;  // steps that make some that stay; a leak does so in most steps
    std::int32_t first_step = -1, last_step = -1, last_kept = -1;
    std::uint32_t complete = 0, crossing = 0;  // made before the last step; live on into the next
    std::uint64_t size = 0;                    // of a parameter: the first such size of this kind
    bool several_sizes = false;                // of parameters
    std::int32_t for_passes = 0;               // > 0: mostly allocated for a forward pass
  };

  // `by_stacks`: kinds are by stack, not by size. `sizes` must outlive this; `ratios`:
  // SizeRatios.
  CategoryKinds(const std::vector<CategoryUnit>& units, const CategoryStacks& stacks,
                const ParameterSizes& sizes, std::span<const std::uint8_t> ratios, bool by_stacks);

  const Kind& Of(const CategoryUnit& unit) const { return kinds_.at(KeyOf(unit)); }
  bool ByStack(const CategoryUnit& unit) const { return by_stacks_ && unit.stack.valid(); }

  // Whether it lives on into the next step. For units of the last step this follows from earlier
  // steps: whether the run ended within the step or right after it is chance.
  bool Crosses(const CategoryUnit& unit) const;
  // Whether its kind is made in several steps, but in at most half of those from its first to its
  // last, and mostly does not stay: a copy that replaces an earlier one.
  bool IsReplacedNowAndThen(const CategoryUnit& unit) const;
  // Whether its kind has the sizes of several parameters, because one match may be chance. Also
  // true where this cannot be checked: if the process has fewer than two sizes of parameters, or if
  // the kind is by size.
  bool HasSizesOfParameters(const CategoryUnit& unit) const;
  // Whether its kind is mostly made outside of passes and the optimizer, by the stacks, and still
  // live when the next pass begins, a forward pass.
  bool IsForPasses(const CategoryUnit& unit) const { return Of(unit).for_passes > 0; }

 private:
  // Several processes run the same line, each in steps of its own.
  using Key = std::pair<std::uint64_t, std::uint8_t>;
  Key KeyOf(const CategoryUnit& unit) const {
    return {ByStack(unit) ? unit.stack.value : (std::uint64_t{1} << 63) | unit.bytes, unit.process};
  }
  void Count(const std::vector<CategoryUnit>& units, std::span<const std::uint8_t> ratios);
  void CountForPasses(const std::vector<CategoryUnit>& units, const CategoryStacks& stacks);

  const bool by_stacks_;
  const ParameterSizes& sizes_;
  absl::flat_hash_map<Key, Kind> kinds_;
};

}  // namespace memprof::analysis
