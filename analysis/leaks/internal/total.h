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

// The same of what allocators reserve, whatever is in use of it: nothing frees segments of streams
// that are not used again, and holes may make every request need a new one.
std::string DescribeReserveGrowth(const Session& session, const StepClock& clock,
                                  std::uint32_t process, const JudgedSites& judged);

}  // namespace memprof::analysis
