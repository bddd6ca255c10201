// Facts about the survivors of a leak's site: how many pass a filter, and when one was last used.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "absl/functional/function_ref.h"
#include "analysis/leaks/leaks.h"
#include "analysis/store/allocation_set.h"
#include "analysis/timeline/accesses.h"

namespace memprof::analysis {

struct SurvivorFacts {
  // Alive when leaks were judged: at the last step mark, or at the end of the log.
  std::uint64_t blocks = 0;
  std::uint64_t passing = 0;  // of these, in the filter's set
  std::uint64_t used = 0;     // of these, used by a kernel, copy or memset at any time
  EventId last_use;           // the latest such event; none if there is none
};

// Calls `each(leak, allocation)` for every survivor of the leaks, in order of birth; `leak` is an
// index. O(allocations).
void ForEachSurvivor(const Session& session, std::span<const Leak> leaks,
                     absl::FunctionRef<void(std::size_t, AllocationId)> each);

// For each leak of a report, in order. `passing` null = all pass; `accesses` null = uses are
// unknown. O(allocations + their uses).
std::vector<SurvivorFacts> DescribeSurvivors(const Session& session, std::span<const Leak> leaks,
                                             const AllocationSet* passing,
                                             const Accesses* accesses);

}  // namespace memprof::analysis
