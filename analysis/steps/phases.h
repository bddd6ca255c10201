// The phases of training steps: forward, backward, optimizer, and what is none of them; from call
// stacks (also of autograd's threads) and named ranges.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "analysis/steps/figures.h"
#include "analysis/store/session.h"
#include "analysis/symbols/symbols.h"

namespace memprof::analysis {

enum class StepPhase : std::uint8_t { kForward, kBackward, kOptimizer, kOther };
inline constexpr std::size_t kStepPhases = 4;
// "forward", "backward", "optimizer", "other".
std::string_view StepPhaseName(StepPhase phase);

// What one step did in one phase. A phase lasts from its first allocation to the first one of
// another; what says nothing of itself is of the phase in which it comes.
struct PhaseFigures {
  std::uint64_t allocations = 0, allocated_bytes = 0;
  std::uint64_t peak_bytes = 0;  // most that was live at once while it lasted
  TimeNs takes = 0;
};
using StepPhases = std::array<PhaseFigures, kStepPhases>;  // by StepPhase

// Of each of `steps`. `symbols` may be null: then only ranges speak. O(events).
std::vector<StepPhases> DescribePhases(const Session& session, Symbols* symbols,
                                       std::span<const StepInfo> steps);

// A step of the usual kind: means over those like the typical one, and the highest peak of each
// phase; of the last step only if there is no other. `of` says of how many.
StepPhases UsualPhases(std::span<const StepPhases> phases, std::span<const StepFigures> figures,
                       std::size_t* of);

}  // namespace memprof::analysis
