// What each step did: allocations, bytes, its peak, what stayed; and whether it did what the other
// steps do.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/steps/internal/pattern.h"
#include "analysis/store/session.h"

namespace memprof::analysis {

// Whose allocations tell steps apart: the layer nearest to the program that has most of them.
enum class StepLayer { kBlocks, kDriver, kTensors };
StepLayer ChooseStepLayer(const Session& session);
bool IsOfStepLayer(StepLayer wanted, Layer layer);

// The allocations of the step layer as tokens: by call site and device, and also by what was asked
// for if `by_size`.
struct StepStream {
  TokenStream tokens;
  std::vector<EventId> births;  // of the tokens
};
StepStream StreamOf(const Session& session, StepLayer layer, bool by_size);
// The same of the events from `begin` up to, but without, `end`.
StepStream StreamOf(const Session& session, StepLayer layer, bool by_size, EventId begin,
                    EventId end);

// Figures of one step. Bytes are of the step layer, on all devices.
struct StepFigures {
  std::uint64_t allocations = 0, frees = 0;
  std::uint64_t allocated_bytes = 0, freed_bytes = 0;
  std::uint64_t peak_bytes = 0;   // most that was live at once during the step
  std::uint64_t after_bytes = 0;  // live when it ended
  // Jaccard index of its allocations (place and size, with how often) and those of the typical
  // step.
  double likeness = 1;
};

// A step whose allocations are less like the typical step's than this is another kind of step.
inline constexpr double kStepAlike = 0.95;

std::vector<StepFigures> DescribeSteps(const Session& session, std::span<const StepInfo> steps);

// Index of the first step that is like the typical one; 0 if none is.
std::int64_t WarmUpSteps(std::span<const double> likeness);

}  // namespace memprof::analysis
