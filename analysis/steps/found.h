// Training steps: from the program's marks, from its named ranges, or from the pattern of its
// allocations; with a confidence and the reasons. The method is in docs/steps.md.
#pragma once

#include <cstdint>
#include <string_view>

#include "analysis/store/session.h"

namespace memprof::analysis {

// Where steps are searched. kAuto: marks if there are any, else the most certain source.
enum class StepChoice { kAuto, kMarks, kRanges, kPattern };

// Finds steps as `choice` says. Without any, the origin's source is kNone, its confidence 0, and
// `why` lists what was searched. O(events) except for sorting what repeats; 10^6 events take about
// 0.1 s. Never fails.
FoundSteps FindSteps(const Session& session, StepChoice choice = StepChoice::kAuto);

// Steps with a lower confidence are reported, but not used for computations.
inline constexpr double kStepConfidence = 0.8;

// For LoadOptions::step_finder: steps of ranges or of the pattern, if they are certain enough; else
// none.
FoundSteps FindStepsToUse(const Session& session);

// Whether PyTorch ran without the agent of `memprof run --torch`, which marks steps and names
// modules, tensors and categories.
bool AgentWouldHelp(const Session& session);

// "marks", "ranges", "pattern", "none".
std::string_view StepSourceName(StepSource source);

}  // namespace memprof::analysis
