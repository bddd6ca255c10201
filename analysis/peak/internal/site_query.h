// The selection of FindSites, for functions that aggregate differently.
#pragma once

#include <vector>

#include "analysis/peak/sites.h"

namespace memprof::analysis {

// The allocations that `query` selects, in order of birth.
std::vector<AllocationId> SelectAllocations(const Session& session, const SiteQuery& query);

}  // namespace memprof::analysis
