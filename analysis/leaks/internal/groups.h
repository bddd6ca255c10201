// Groups of sites that leak little each, and much together: modules or hooks that are created in
// each iteration.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/leaks/sites.h"

namespace memprof::analysis {

struct SiteGroup {
  std::vector<std::size_t> sites;  // at least two, ascending
};

// Sites of one device and layer that share the outer part of their path (a frame that comes again,
// as in a recursion, counts once), and whose survivors together are born as a leak's are, in at
// least `least` steps. The longest shared paths first; a site may be in several groups. Left out
// are sites in `settled`, and paths of more than half of all allocations: a loop's body leads to
// everything.
std::vector<SiteGroup> GroupsThatGrow(const Session& session, const StepClock& clock,
                                      const std::vector<LeakSite>& sites,
                                      const std::vector<bool>& settled, std::int64_t least);

// As one site, with the stack of the part that has the most survivors.
LeakSite MergeSites(const Session& session, const std::vector<LeakSite>& sites,
                    const std::vector<std::size_t>& indices);

}  // namespace memprof::analysis
