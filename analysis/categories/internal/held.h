// Gradients, by what call stacks say of backward passes.
#pragma once

#include <vector>

#include "analysis/categories/phases.h"
#include "analysis/categories/stacks.h"
#include "analysis/categories/units.h"

namespace memprof::analysis {

// By unit: whether stacks say that a backward pass made it, it has a parameter's size, and it is
// still held when the pass makes its last unit. Of one size there are at most as many as there are
// parameters of it: the gradient of the first layer's input is still there at that time, too, and
// may have the size of a weight. Those that live longest count. O(units · log units).
std::vector<bool> HeldGradients(const std::vector<CategoryUnit>& units,
                                const CategoryStacks& stacks, const ParameterSizes& sizes);

}  // namespace memprof::analysis
