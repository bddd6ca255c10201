// Which findings are about memory that a filter lets pass.
#pragma once

#include <vector>

#include "analysis/advice/advice.h"
#include "analysis/filter/allocation_filter.h"
#include "analysis/store/allocation_set.h"

namespace memprof::analysis {

// By finding: whether any allocation of its call site passes, of its layer if the site has any of
// that; findings without a stack only where every allocation of their device passes. `site_of` as
// in AdviceOptions. O(allocations + findings).
std::vector<bool> PassingFindings(const Session& session, const std::vector<Finding>& findings,
                                  const std::function<std::uint32_t(StackId)>& site_of,
                                  const AllocationSet& passing);

}  // namespace memprof::analysis
