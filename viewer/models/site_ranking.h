// Call sites with their bytes: sites with the same text are one row.
#pragma once

#include <vector>

#include "analysis/peak/sites.h"
#include "analysis/symbols/symbols.h"
#include "viewer/models/ranked_model.h"

namespace memprof::viewer {

// Stacks with the same function and line are one row with their sum, by whatever path; the row's
// stack is the largest of them. Largest first.
std::vector<RankedRow> RankSites(const std::vector<analysis::Site>& sites,
                                 analysis::Symbols& symbols);

}  // namespace memprof::viewer
