// Whether what seems to grow is growth of the run, where nobody marked its steps: while a single
// pass goes on, gradients or layers pile up as leaks do, and what they take others give back.
//
#pragma once

#include <vector>

#include "analysis/leaks/internal/candidates.h"

namespace memprof::analysis {

// Moves candidates to what is merely rising, where the end of the run does other things than its
// beginning, or where the rest of their device gives back about what they take. Steps that the
// program marked are believed.
void DropWhatIsLevel(const Session& session, const StepClock& clock,
                     const std::vector<LeakSite>& sites, JudgedSites* judged);

}  // namespace memprof::analysis
