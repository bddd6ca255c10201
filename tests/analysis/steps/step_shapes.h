// Loops of programs in C++ that mark nothing, in the shapes that they have: what a loop allocates,
// and at which of its allocations each turn begins.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "analysis/testing/log_builder.h"

namespace memprof::analysis::testing {

struct StepShape {
  std::string_view name;
  // Turns are steps. Otherwise nothing in the run is one: set-up, or a single step.
  bool steps = true;
};

const std::vector<StepShape>& StepShapes();

// Writes a run of `turns` of `shape` on driver memory of device 0, or on blocks. Returns the
// number of allocations before each turn; none if the shape has no steps.
std::vector<std::uint32_t> WriteStepShape(std::string_view shape, std::uint32_t seed, int turns,
                                          Layer layer, LogBuilder* log);

}  // namespace memprof::analysis::testing
