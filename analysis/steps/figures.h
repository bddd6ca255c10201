// Figures of each step: allocations, bytes, peak, what stayed; and how similar it is to the other
// steps.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/store/sampling.h"
#include "analysis/store/session.h"

namespace memprof::analysis {

// The layer whose allocations distinguish steps: the one nearest to the program that has most of
// them.
enum class StepLayer { kBlocks, kDriver, kTensors };
StepLayer ChooseStepLayer(const Session& session);
bool IsOfStepLayer(StepLayer wanted, Layer layer);

// Figures of one step. Bytes are of the step layer, on all devices.
struct StepFigures {
  std::uint64_t allocations = 0, frees = 0;
  std::uint64_t allocated_bytes = 0, freed_bytes = 0;
  std::uint64_t peak_bytes = 0;   // most that was live at one time in the step
  std::uint64_t after_bytes = 0;  // live when it ended
  // Of a step in a log that is always on, of which a part is left out: the estimate of the blocks
  // drawn in it, which the above leaves out, and the most that was counted there (0 = nothing). It
  // has no likeness.
  bool whole = true;
  SampledSum drawn_count, drawn_bytes;
  std::uint64_t counted_peak = 0;
  // Jaccard index of its allocations (place and size, with their counts) and those of the typical
  // step.
  double likeness = 1;
};

// A step with a lower likeness is of another kind.
inline constexpr double kStepAlike = 0.95;

std::vector<StepFigures> DescribeSteps(const Session& session, std::span<const StepInfo> steps);

// Index of the first step like the typical one; 0 if there is none.
std::int64_t WarmUpSteps(std::span<const double> likeness);

}  // namespace memprof::analysis
