// Growth of a device as a whole, where no site is told to leak.
#pragma once

#include <string>
#include <vector>

#include "analysis/leaks/internal/candidates.h"

namespace memprof::analysis {

// If what is held after each step rises for good though no site leaks by the rule: says by how much
// and how often, and adds the sites that rise most to `judged->rising`. Else "".
std::string NameWhatRises(const Session& session, const StepClock& clock,
                          const std::vector<LeakSite>& sites, JudgedSites* judged);

}  // namespace memprof::analysis
