// Whether a site holds more only because the inputs of the steps get longer.
#pragma once

#include <vector>

#include "analysis/leaks/internal/candidates.h"

namespace memprof::analysis {

// Leaves out candidates whose block is replaced by a larger one, if what the steps allocate and
// free elsewhere gets larger alike: then it is the batch of the step, or made from it.
// O(allocations).
void LeaveOutLongerInputs(const Session& session, const StepClock& clock,
                          const std::vector<LeakSite>& sites, JudgedSites* judged);

}  // namespace memprof::analysis
