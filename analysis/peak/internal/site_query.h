// The two halves of FindSites, for those that choose allocations in another way.
#pragma once

#include <span>
#include <vector>

#include "analysis/peak/sites.h"

namespace memprof::analysis {

// The allocations that `query` asks about, in order of birth.
std::vector<AllocationId> SelectAllocations(const Session& session, const SiteQuery& query);

// Sums `ids` by stack; largest first by bytes, or by number of allocations if `by_count`. Equal
// ones stay in order of their first allocation.
std::vector<Site> GroupBySite(const Session& session, std::span<const AllocationId> ids,
                              bool by_count);

}  // namespace memprof::analysis
