// The call stacks of the memory that a comparison counts: blocks of allocators, and driver memory
// that no allocator divides. Their sums are those of DiffReport::sites.
#pragma once

#include <vector>

#include "analysis/diff/diff.h"
#include "analysis/peak/sites.h"

namespace memprof::analysis {

// Live at each device's peak, or at the end. `passing`: only these; null = all. Largest first.
// O(events).
std::vector<Site> StacksOfRun(const Session& session, DiffMoment moment,
                              const AllocationSet* passing = nullptr);
// Live after an event; none = before the first.
std::vector<Site> StacksAfter(const Session& session, EventId event,
                              const AllocationSet* passing = nullptr);

}  // namespace memprof::analysis
