// Call sites with their bytes, as people rank them: what reads the same is one row.
#pragma once

#include <vector>

#include "analysis/peak/sites.h"
#include "analysis/symbols/symbols.h"
#include "viewer/models/ranked_model.h"

namespace memprof::viewer {

// Stacks that meet in one function and line are one row with their sum, however they came there;
// the row stands for the largest of them. Largest first.
std::vector<RankedRow> RankSites(const std::vector<analysis::Site>& sites,
                                 analysis::Symbols& symbols);

}  // namespace memprof::viewer
