// Sites that leak little each, and much together: modules or hooks that are made in each turn.
//
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/leaks/sites.h"

namespace memprof::analysis {

struct SiteGroup {
  std::vector<std::size_t> sites;  // at least two, ascending
};

// Sites of one device and layer that share the outer part of their way (a frame that comes again,
// as in a recursion, counts once), and whose survivors together are born as those of a leak are, at
// least in `least` steps. The longest shared ways first; a site may be in several groups. Left out
// are sites in `told`, and ways that more than half of all allocations take: a loop's body leads to
// everything.
std::vector<SiteGroup> GroupsThatGrow(const Session& session, const StepClock& clock,
                                      const std::vector<LeakSite>& sites,
                                      const std::vector<bool>& told, std::int64_t least);

// As one site, under the stack of the part with the most survivors.
LeakSite MergeSites(const Session& session, const std::vector<LeakSite>& sites,
                    const std::vector<std::size_t>& indices);

}  // namespace memprof::analysis
