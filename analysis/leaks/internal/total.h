// Growth of a device as a whole, if no site leaks.
#pragma once

#include <string>
#include <vector>

#include "analysis/leaks/internal/candidates.h"

namespace memprof::analysis {

// If the memory held after each step rises and does not fall again, but no site leaks by the rule:
// returns a sentence with the amount, and adds the sites that rise most to `judged->rising`. Else
// "".
std::string DescribeTotalGrowth(const Session& session, const StepClock& clock,
                                const std::vector<LeakSite>& sites, JudgedSites* judged);

}  // namespace memprof::analysis
