// The phases of training steps: forward, backward, optimizer, and other; from call stacks (also of
// autograd's threads) and named ranges.
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
// another phase; allocations without evidence belong to the current phase.
struct PhaseFigures {
  std::uint64_t allocations = 0, allocated_bytes = 0;
  std::uint64_t peak_bytes = 0;  // most that was live at once while it lasted
  TimeNs takes = 0;
};
using StepPhases = std::array<PhaseFigures, kStepPhases>;  // by StepPhase

// For each of `steps`. `symbols` may be null: then only ranges are used. O(events).
std::vector<StepPhases> DescribePhases(const Session& session, Symbols* symbols,
                                       std::span<const StepInfo> steps);

// The usual step: means over steps like the typical one, and the highest peak of each phase;
// includes the last step only if there is no other. `of` gets the number of steps.
StepPhases UsualPhases(std::span<const StepPhases> phases, std::span<const StepFigures> figures,
                       std::size_t* of);

}  // namespace memprof::analysis
