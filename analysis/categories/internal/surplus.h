// A training holds no more gradients than it has parameters.
#pragma once

#include <vector>

#include "analysis/categories/units.h"

namespace memprof::analysis {

// By unit: which of those that their size makes gradients are too many. At no time does a place
// hold more of them than it has parameters of their size, or of half or twice that. Sizes that the
// rest of a block may explain count as the same. Those that are `held` stay, if there are others,
// and of the others those that live longest. While a step replaces the gradients of the step
// before, both count as one. `parameters`, `gradients`: by unit. O(units · log units).
std::vector<bool> SurplusGradients(const std::vector<CategoryUnit>& units,
                                   const std::vector<bool>& parameters,
                                   const std::vector<bool>& gradients,
                                   const std::vector<bool>& held);

}  // namespace memprof::analysis
