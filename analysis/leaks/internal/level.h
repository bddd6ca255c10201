// Whether apparent growth is growth of the run, if its steps were not marked: within a single pass,
// gradients or layers accumulate as leaks do, but other memory is freed in return.
#pragma once

#include <vector>

#include "analysis/leaks/internal/candidates.h"

namespace memprof::analysis {

// Moves candidates to those that are merely rising, if the end of the run does other work than its
// beginning, or if the rest of their device frees about what they take. Steps that the program
// marked are trusted.
void DemoteLevelGrowth(const Session& session, const StepClock& clock,
                       const std::vector<LeakSite>& sites, JudgedSites* judged);

}  // namespace memprof::analysis
