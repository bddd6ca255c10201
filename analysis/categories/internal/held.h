// Finds gradients by the call stacks of backward passes.
#pragma once

#include <vector>

#include "analysis/categories/phases.h"
#include "analysis/categories/stacks.h"
#include "analysis/categories/units.h"

namespace memprof::analysis {

// By unit: whether its stack is in a backward pass, it has the size of a parameter, and it is still
// held when the pass allocates its last unit. At most as many units of a size as there are
// parameters of it: the gradient of the first layer's input also lives that long, and may have the
// size of a weight. Those that live longest count. Also of any size, what the pass reduces with
// other ranks and holds until something is allocated after it. O(units · log units).
std::vector<bool> HeldGradients(const std::vector<CategoryUnit>& units,
                                const CategoryStacks& stacks, const ParameterSizes& sizes);

}  // namespace memprof::analysis
