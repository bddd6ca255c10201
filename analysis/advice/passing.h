// Which findings concern memory that a filter lets pass.
#pragma once

#include <vector>

#include "analysis/advice/advice.h"
#include "analysis/filter/allocation_filter.h"
#include "analysis/store/allocation_set.h"

namespace memprof::analysis {

// By finding: whether any allocation of its call site passes (in the finding's layer, if the site
// has any there). A finding without a stack passes if every allocation of its device does.
// `site_of` as in AdviceOptions. O(allocations + findings).
std::vector<bool> PassingFindings(const Session& session, const std::vector<Finding>& findings,
                                  const std::function<std::uint32_t(StackId)>& site_of,
                                  const AllocationSet& passing);

}  // namespace memprof::analysis
