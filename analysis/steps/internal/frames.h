// What the Python frames of call stacks say of a training: where its backward passes are, and where
// its optimizer works. Needs no symbols.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/steps/figures.h"
#include "analysis/store/session.h"

namespace memprof::analysis {

enum class Role : std::uint8_t { kOther, kForward, kBackward, kOptimizer };

// By stack; empty if no frame says anything.
struct StackRoles {
  // What its innermost Python frame that says anything says. All that a framework's backward pass
  // runs is of it: what a checkpoint computes again, and an optimizer in a hook.
  std::vector<Role> role;
  // Who called the optimizer; none if it is not in one. Optimizers that take turns differ in it.
  std::vector<StackId> optimizer_caller;
};
StackRoles RolesOfStacks(const Session& session);

// The same for the allocations of a stream, one each; empty likewise.
std::vector<Role> RolesOf(const Session& session, const StackRoles& by_stack,
                          const StepStream& stream);

// Where forward passes begin, each the first since a backward pass: positions in the stream.
std::vector<std::uint32_t> ForwardPasses(const std::vector<Role>& roles);

// Whether most of `begins`, which ascend, lie between a forward pass and its backward pass, or in
// that: there memory is lowest where gradients are dropped late and outweigh what the forward pass
// keeps. O(roles + begins).
bool BeginAmidPasses(const std::vector<Role>& roles, const std::vector<std::uint32_t>& begins);

// Whether all from the first of `begins` to the last is of one line of a forward pass, which then
// runs one layer after the other. `stream` is of `session`. O(allocations · depth).
bool LieInForwardPass(const Session& session, const StepStream& stream,
                      const std::vector<std::uint32_t>& begins);

}  // namespace memprof::analysis
