// The first half of FindSites, for those that sum up in another way.
#pragma once

#include <vector>

#include "analysis/peak/sites.h"

namespace memprof::analysis {

// The allocations that `query` asks about, in order of birth.
std::vector<AllocationId> SelectAllocations(const Session& session, const SiteQuery& query);

}  // namespace memprof::analysis
