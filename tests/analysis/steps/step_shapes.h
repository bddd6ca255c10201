// Loops of C++ programs without step marks: their allocations, and at which allocation each
// iteration begins.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "analysis/testing/log_builder.h"

namespace memprof::analysis::testing {

struct StepShape {
  std::string_view name;
  // Whether iterations are steps. If not, the run has no steps: it is set-up, or a single step.
  bool steps = true;
};

const std::vector<StepShape>& StepShapes();

// Writes a run of `iterations` of `shape` on driver memory of device 0, or on blocks. Returns the
// number of allocations before each iteration; none if the shape has no steps.
std::vector<std::uint32_t> WriteStepShape(std::string_view shape, std::uint32_t seed,
                                          int iterations, Layer layer, LogBuilder* log);

}  // namespace memprof::analysis::testing
