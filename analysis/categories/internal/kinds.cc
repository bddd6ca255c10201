// Counts, for each call site, when it makes memory and how long that stays.
#include "analysis/categories/internal/kinds.h"

#include <algorithm>
#include <utility>

namespace memprof::analysis {

CategoryKinds::CategoryKinds(const std::vector<CategoryUnit>& units, const CategoryStacks& stacks,
                             const ParameterSizes& sizes, std::span<const std::uint8_t> ratios,
                             bool by_stacks)
    : by_stacks_(by_stacks), sizes_(sizes) {
  Count(units, ratios);
  if (by_stacks) CountForPasses(units, stacks);
}

void CategoryKinds::Count(const std::vector<CategoryUnit>& units,
                          std::span<const std::uint8_t> ratios) {
  for (std::size_t u = 0; u < units.size(); ++u) {
    const CategoryUnit& unit = units[u];
    Kind& kind = kinds_[KeyOf(unit)];
    if (!ratios.empty() && (ratios[u] & 1) != 0) {
      kind.several_sizes |= kind.size != 0 && kind.size != unit.bytes;
      kind.size = unit.bytes;
    }
    if (unit.step < 0) continue;
    if (kind.first_step < 0) kind.first_step = unit.step;
    kind.steps_made += kind.last_step != unit.step;
    kind.last_step = unit.step;
    if (!unit.in_last_step) {
      ++kind.complete;
      kind.crossing += unit.crosses;
    }
    if (!unit.stays || kind.last_kept == unit.step) continue;
    kind.last_kept = unit.step;
    ++kind.steps_kept;
  }
}

void CategoryKinds::CountForPasses(const std::vector<CategoryUnit>& units,
                                   const CategoryStacks& stacks) {
  struct PassPlace {
    bool forward = false;  // a forward pass is on, or its loss is computed
    std::vector<const CategoryUnit*> waiting;
  };
  absl::flat_hash_map<std::uint32_t, PassPlace> places;
  for (const CategoryUnit& unit : units) {
    const CategoryStacks::Facts& facts = stacks.Of(unit.stack);
    PassPlace& place = places[unit.place()];
    if (unit.step >= 0 && unit.stack.valid() && facts.phase == Phase::kNone && !facts.backward &&
        !facts.gradient && !facts.parameter) {
      if (place.forward)
        --kinds_[KeyOf(unit)].for_passes;
      else
        place.waiting.push_back(&unit);
      continue;
    }
    const bool pass = facts.phase == Phase::kForward || facts.phase == Phase::kOptimizer;
    if (!pass && !facts.backward) continue;  // a workspace, say, may be made in any of them
    place.forward = facts.phase == Phase::kForward && !facts.backward;
    for (const CategoryUnit* one : std::exchange(place.waiting, {})) {
      const bool there = !one->death.valid() || one->death > unit.birth;
      kinds_[KeyOf(*one)].for_passes += place.forward && there ? 1 : -1;
    }
  }
}

bool CategoryKinds::Crosses(const CategoryUnit& unit) const {
  if (!unit.in_last_step) return unit.crosses;
  const Kind& kind = Of(unit);
  return kind.complete > 0 && kind.crossing * 2 > kind.complete;
}

bool CategoryKinds::IsReplacedNowAndThen(const CategoryUnit& unit) const {
  const Kind& kind = Of(unit);
  return kind.steps_made > std::max(1u, kind.steps_kept) &&
         static_cast<std::int64_t>(kind.steps_made) * 2 <=
             std::int64_t{kind.last_step} - kind.first_step + 1;
}

bool CategoryKinds::HasSizesOfParameters(const CategoryUnit& unit) const {
  return sizes_.CountFor(unit) < 2 || !ByStack(unit) || Of(unit).several_sizes;
}

}  // namespace memprof::analysis
