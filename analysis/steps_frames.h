// What the Python frames of call stacks say of a training: where its backward passes are, and where
// its optimizer works. Needs no symbols. Internal to analysis/.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/session.h"
#include "analysis/steps_figures.h"

namespace memprof::analysis {

enum class Role : std::uint8_t { kOther, kForward, kBackward, kOptimizer };

// By stack: what its innermost Python frame that says anything says. Empty if none says anything.
std::vector<Role> RolesOfStacks(const Session& session);

// The same for the allocations of a stream, one each; empty likewise.
std::vector<Role> RolesOf(const Session& session, const std::vector<Role>& by_stack,
                          const StepStream& stream);

// Where steps begin if each ends with the optimizer, at least one backward pass before it:
// positions in the stream. Empty if the optimizer allocates too seldom to tell.
std::vector<std::uint32_t> StepsByOptimizer(const TokenStream& stream,
                                            const std::vector<Role>& roles);

// Where forward passes begin, each the first since a backward pass: positions in the stream.
std::vector<std::uint32_t> ForwardPasses(const std::vector<Role>& roles);

// Whether most of `begins`, which ascend, lie between a forward pass and its backward pass, or in
// that: there memory is lowest where gradients are dropped late and outweigh what the forward pass
// keeps. O(roles + begins).
bool BeginAmidPasses(const std::vector<Role>& roles, const std::vector<std::uint32_t>& begins);

}  // namespace memprof::analysis
