// Looks at passes backwards: what outlives one is held, as far as there are parameters of its size.
#include "analysis/categories/internal/held.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"

namespace memprof::analysis {
namespace {

using SizeAtPlace = std::pair<std::uint32_t, std::uint64_t>;

// Parameters of each size: those that stacks identify, if there are any, or else everything from
// before the first step.
absl::flat_hash_map<SizeAtPlace, std::size_t> CountParameters(
    const std::vector<CategoryUnit>& units, const CategoryStacks& stacks) {
  absl::flat_hash_map<SizeAtPlace, std::size_t> counts;
  for (const CategoryUnit& unit : units) {
    if (unit.step < 0 && unit.stays &&
        (stacks.Of(unit.stack).parameter || !stacks.identify_parameters()))
      ++counts[{unit.place(), unit.bytes}];
  }
  return counts;
}

class Passes {
 public:
  Passes(const std::vector<CategoryUnit>& units, const CategoryStacks& stacks)
      : units_(units), parameters_(CountParameters(units, stacks)), held_(units.size(), false) {}

  // Ends the current pass of a place, whose units are `held`, in any order.
  void End(std::vector<std::size_t> held) {
    const auto rank = [this](std::size_t u) {
      const CategoryUnit& unit = units_[u];
      return std::pair(unit.bytes, unit.death.valid() ? ~unit.death.value : 0);
    };
    std::sort(held.begin(), held.end(),
              [&](std::size_t a, std::size_t b) { return rank(a) < rank(b); });
    std::size_t same = 0;
    for (std::size_t i = 0; i < held.size(); ++i) {
      const CategoryUnit& unit = units_[held[i]];
      same = i > 0 && units_[held[i - 1]].bytes == unit.bytes ? same + 1 : 0;
      const auto parameters = parameters_.find({unit.place(), unit.bytes});
      // Without steps, whatever stays would be a parameter, had it no stack.
      held_[held[i]] = parameters == parameters_.end() ? unit.step >= 0 : same < parameters->second;
    }
  }
  void Hold(std::size_t u) { held_[u] = true; }
  std::vector<bool> TakeHeld() { return std::move(held_); }

 private:
  const std::vector<CategoryUnit>& units_;
  const absl::flat_hash_map<SizeAtPlace, std::size_t> parameters_;
  std::vector<bool> held_;
};

}  // namespace

std::vector<bool> HeldGradients(const std::vector<CategoryUnit>& units,
                                const CategoryStacks& stacks, const ParameterSizes& sizes) {
  Passes passes(units, stacks);
  struct Pass {
    EventId end;   // its last birth
    EventId next;  // the first birth after it
    std::vector<std::size_t> held;
  };
  absl::flat_hash_map<std::uint32_t, Pass> at_hand;  // by place
  for (std::size_t u = units.size(); stacks.identify_backward() && u-- > 0;) {
    const CategoryUnit& unit = units[u];
    const CategoryStacks::Facts& facts = stacks.Of(unit.stack);
    if (facts.phase == Phase::kWorkspace) continue;
    Pass& pass = at_hand[unit.place()];
    if (facts.phase == Phase::kCommunication) {
      // Shards of gradients, of many parameters each: what else is reduced is freed with the pass.
      if (facts.backward && unit.step >= 0 && pass.next.valid() && unit.death > pass.next)
        passes.Hold(u);
      continue;
    }
    if (!facts.backward) {
      passes.End(std::exchange(pass, {.end = {}, .next = unit.birth, .held = {}}).held);
      continue;
    }
    if (!pass.end.valid()) pass.end = unit.birth;
    const bool comparable = unit.step >= 0 || stacks.identify_parameters();
    if (comparable && sizes.HasNearly(unit) && (!unit.death.valid() || unit.death > pass.end))
      pass.held.push_back(u);
  }
  for (auto& [place, pass] : at_hand) passes.End(std::move(pass.held));
  return passes.TakeHeld();
}

}  // namespace memprof::analysis
