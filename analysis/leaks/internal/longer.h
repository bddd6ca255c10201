// Whether a site holds more only because the inputs of the steps get longer.
#pragma once

#include <vector>

#include "analysis/leaks/internal/candidates.h"

namespace memprof::analysis {

// Moves candidates whose block is replaced by a larger one to those that are merely rising, if what
// the steps allocate and free elsewhere gets larger alike: then it is the batch of the step, or
// made from it. O(allocations).
void DemoteLongerInputs(const Session& session, const StepClock& clock,
                        const std::vector<LeakSite>& sites, JudgedSites* judged);

}  // namespace memprof::analysis
