// When a training learns: the optimizer works after a backward pass, or gradients are given back.
// Told by Python's frames; needs no symbols.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/steps/figures.h"
#include "analysis/steps/internal/frames.h"
#include "analysis/store/session.h"

namespace memprof::analysis {

struct Updates {
  // Where the steps begin that end with an update each, but for the last one, which may end with
  // the run: positions in the stream. Empty if nothing learns, or nothing tells when.
  std::vector<std::uint32_t> begins;
  bool by_optimizer = false;  // else by gradients
  // Backward passes behind forward passes: there are no more steps than that. 0 = not known.
  std::uint32_t passes = 0;
};

// `roles` are of the allocations of `stream`, by `stacks`. O(allocations · log(allocations)).
Updates FindUpdates(const Session& session, const StackRoles& stacks, const StepStream& stream,
                    const std::vector<Role>& roles);

}  // namespace memprof::analysis
