// Finds the updates of a training: the optimizer runs after a backward pass, or gradients are
// freed. By Python frames; needs no symbols.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/steps/internal/frames.h"
#include "analysis/steps/internal/stream.h"
#include "analysis/store/session.h"

namespace memprof::analysis {

struct Updates {
  // Begins of steps that end with an update each (the last one may end with the run): positions in
  // the stream. Empty if there is no training, or its updates cannot be found.
  std::vector<std::uint32_t> begins;
  bool by_optimizer = false;  // else by gradients
  // Where a forward pass begins after the last update that no backward pass followed: an
  // evaluation, or a step that the program did not live to end. 0 = none.
  std::uint32_t unfinished = 0;
  // Backward passes after forward passes: an upper bound of the steps. 0 = not known.
  std::uint32_t passes = 0;
};

// `roles` are of the allocations of `stream`, from `stacks`. O(allocations · log(allocations)).
Updates FindUpdates(const Session& session, const StackRoles& stacks, const StepStream& stream,
                    const std::vector<Role>& roles);

}  // namespace memprof::analysis
