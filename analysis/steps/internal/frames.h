// Finds backward passes and the optimizer by the Python frames of call stacks. Needs no symbols.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/steps/internal/stream.h"
#include "analysis/store/session.h"

namespace memprof::analysis {

enum class Role : std::uint8_t { kOther, kForward, kBackward, kOptimizer };

// By stack; empty if no frame has a role.
struct StackRoles {
  // The role of its innermost Python frame that has one. Everything that runs within a framework's
  // backward pass belongs to it: also recomputed checkpoints, and an optimizer in a hook.
  std::vector<Role> role;
  // The caller of the optimizer; none outside of an optimizer. Distinguishes several optimizers
  // that alternate.
  std::vector<StackId> optimizer_caller;
};
StackRoles RolesOfStacks(const Session& session);

// By allocation of a stream; empty if no frame has a role.
std::vector<Role> RolesOf(const Session& session, const StackRoles& by_stack,
                          const StepStream& stream);

// Where forward passes begin, the first after each backward pass: positions in the stream.
std::vector<std::uint32_t> ForwardPasses(const std::vector<Role>& roles);

// Whether most of `begins`, which ascend, lie between a forward pass and the end of its backward
// pass: memory is lowest there if gradients are dropped late and exceed what the forward pass
// keeps. O(roles + begins).
bool BeginAmidPasses(const std::vector<Role>& roles, const std::vector<std::uint32_t>& begins);

// Whether everything from the first to the last of `begins` is from one line of a forward pass,
// which then runs one layer after the other. `stream` is of `session`. O(allocations · depth).
bool LieInForwardPass(const Session& session, const StepStream& stream,
                      const std::vector<std::uint32_t>& begins);

}  // namespace memprof::analysis
